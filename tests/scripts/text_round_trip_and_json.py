"""Text, JSON, pickles and structural equality of modules; comments on nodes; parameters in files."""
import pickle
import tempfile

import numpy as np
import tvm
from tvm import relay
from tvm.relay import testing

for network in (testing.mlp, testing.squeezenet):
    mod, params = network.get_workload(batch_size=1)
    text = mod.astext(show_meta_data=True)
    again = tvm.parser.fromtext(text)
    tvm.ir.assert_structural_equal(relay.transform.InferType()(mod), relay.transform.InferType()(again))
    assert tvm.ir.structural_hash(mod["main"]) == tvm.ir.structural_hash(again["main"])
    loaded = tvm.ir.load_json(tvm.ir.save_json(mod))
    assert tvm.ir.structural_equal(loaded, mod)
    blob = relay.save_param_dict(params)
    back = relay.load_param_dict(blob)
    assert set(back) == set(params)
    for key, value in params.items():
        np.testing.assert_array_equal(back[key].numpy(), value.numpy())
x = relay.var("x", relay.TensorType((3,), "float32"))
f = relay.Function([x], relay.exp(x))
restored = pickle.loads(pickle.dumps(f))
assert tvm.ir.structural_equal(f, restored)
note = str(f)
assert "exp" in note
annotated = f.astext(annotate=lambda e: " /* call */" if isinstance(e, relay.Call) else "")
assert "/* call */" in annotated
program = relay.parse(
    """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) -> Tensor[(3), float32] {
  %0 = add(%x, %y) /* ty=Tensor[(3), float32] */;
  nn.relu(%0)
}
"""
)
assert program["main"].body.op.name == "nn.relu"
with tempfile.NamedTemporaryFile("w", suffix=".txt") as out:
    out.write(str(program))
    out.flush()
    assert open(out.name).read() == str(program)
