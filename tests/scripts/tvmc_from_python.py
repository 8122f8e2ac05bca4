"""tvmc in Python: load, compile, run, times."""
import os
import tempfile

import numpy as np

import tvm
from tvm import relay
from tvm.driver import tvmc
from tvm.driver.tvmc.model import TVMCModel, TVMCPackage, TVMCResult

folder = tempfile.mkdtemp()
x, w = relay.var("x", shape=(1, 8)), relay.var("w", shape=(4, 8))
mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.softmax(relay.nn.dense(x, w))))
params = {"w": tvm.nd.array(np.random.rand(4, 8).astype("float32"))}

model = TVMCModel(mod, params)
model.summary()
path = os.path.join(folder, "package.tar")
package = tvmc.compile(model, target="llvm", package_path=path)
assert isinstance(package, TVMCPackage) and os.path.exists(path)
data = np.random.rand(1, 8).astype("float32")
result = tvmc.run(package, device="cpu", inputs={"x": data}, benchmark=True, repeat=3, number=2)
assert isinstance(result, TVMCResult)
scores = data @ params["w"].numpy().T
np.testing.assert_allclose(result.get_output("output_0"), np.exp(scores) / np.exp(scores).sum(), rtol=1e-4)
print(result)
again = tvmc.run(TVMCPackage(package_path=path), device="cpu", fill_mode="ones")
assert again.get_output("output_0").shape == (1, 4)
model.save(os.path.join(folder, "saved"))
reloaded = TVMCModel(model_path=os.path.join(folder, "saved"))
tvm.ir.assert_structural_equal(reloaded.mod, model.mod)
