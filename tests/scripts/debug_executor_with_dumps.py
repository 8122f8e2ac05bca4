"""The debug executor: a folder with dumps, profiles, and the reports."""
import os
import tempfile
import numpy as np
import tvm
from tvm import relay
from tvm.contrib.debugger import debug_executor
from tvm.contrib.debugger.debug_executor import GraphModuleDebug

mod, params = relay.testing.mlp.get_workload(batch_size=2, image_shape=(1, 4, 4))
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, "llvm", params=params)
dev = tvm.cpu()
with tempfile.TemporaryDirectory() as root:
    m = debug_executor.create(lib.get_graph_json(), lib.get_lib(), dev, dump_root=root)
    x = np.random.rand(2, 1, 4, 4).astype("float32")
    m.set_input("data", tvm.nd.array(x))
    m.set_input(**lib.get_params())
    m.run()
    out = m.get_output(0).numpy()
    assert out.shape == (2, 10)
    directory = os.listdir(root)
    assert len(directory) == 1
    report = m.profile(collectors=[])
    print(report.table()[:300])
    assert len(report.csv().splitlines()) > 1
    m.exit()
    assert not os.listdir(root)
gmod = GraphModuleDebug(lib["debug_create"]("default", dev), [dev], lib.get_graph_json(), None)
gmod.set_input("data", x)
gmod.run()
np.testing.assert_allclose(gmod.get_output(0).numpy(), out, rtol=1e-5)
rep = gmod.profile(data=x)
assert len(rep.calls) > 0
names = [c["Name"] for c in rep.calls]
print(names)
