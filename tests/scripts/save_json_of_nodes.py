import json
import pathlib
import tempfile
import numpy as np
import tvm
from tvm import relay
import tvm.ir


def check_json_roundtrip(node):
    json_str = tvm.ir.save_json(node)
    back = tvm.ir.load_json(json_str)
    tvm.ir.assert_structural_equal(back, node, map_free_vars=True)


def test_basics():
    check_json_roundtrip(relay.TypeVar("alpha"))
    check_json_roundtrip(relay.TensorType([2, 3, 4], "float32"))
    check_json_roundtrip(relay.TupleType([relay.TensorType([1], "int8"), relay.TupleType([])]))
    check_json_roundtrip(relay.FuncType([relay.TensorType([1])], relay.TensorType([2])))
    check_json_roundtrip(relay.const(np.array([1.5, 2.5], "float32")))
    x = relay.Var("x")
    check_json_roundtrip(relay.Let(x, relay.const(1), x))
    check_json_roundtrip(relay.If(relay.const(True), relay.const(1), relay.const(2)))
    check_json_roundtrip(relay.TupleGetItem(relay.Tuple([relay.const(1)]), 0))
    check_json_roundtrip(relay.Function([x], x, None, []))


def test_call_attrs():
    x = relay.var("x", shape=(3, 4))
    call = relay.transpose(relay.expand_dims(x, axis=1, num_newaxis=2), (1, 0, 2, 3))
    s = tvm.ir.save_json(call)
    j = json.loads(s)
    kinds = {n["type_key"] for n in j["nodes"]}
    assert "relay.Call" in kinds and "relay.attrs.TransposeAttrs" in kinds and "relay.attrs.ExpandDimsAttrs" in kinds, kinds
    root = j["nodes"][j["root"]]
    assert root["type_key"] == "relay.Call"
    op = j["nodes"][int(root["attrs"]["op"])]
    assert op["repr_str"] == "transpose"
    args = j["nodes"][int(root["attrs"]["args"])]
    assert args["type_key"] == "Array" and len(args["data"]) == 1
    back = tvm.ir.load_json(s)
    assert back.op.name == "transpose"
    tvm.ir.assert_structural_equal(back, call, map_free_vars=True)
    assert j["attrs"]["tvm_version"]


def count_nodes(s):
    return len(json.loads(s)["nodes"])


def test_sharing():
    x = relay.var("x", shape=(8,))
    y = relay.exp(x)
    shared = relay.Function([x], y + y)
    unshared = relay.Function([x], relay.exp(x) + relay.exp(x))
    s1, s2 = tvm.ir.save_json(shared), tvm.ir.save_json(unshared)
    assert count_nodes(s1) < count_nodes(s2)
    b = tvm.ir.load_json(s1)
    assert b.body.args[0].same_as(b.body.args[1])


def test_module_and_file(tmp_path):
    mod, params = relay.testing.mlp.get_workload(1)
    s = tvm.ir.save_json(mod)
    with open(tmp_path / "mlp.json", "w") as f:
        f.write(s)
    with open(tmp_path / "mlp.json") as f:
        back = tvm.ir.load_json(f.read())
    tvm.ir.assert_structural_equal(back, mod)
    assert back["main"].checked_type == mod["main"].checked_type or back["main"].ret_type == mod["main"].ret_type
    j = json.loads(s)
    assert j["nodes"][j["root"]]["type_key"] == "IRModule"
    assert j["nodes"][0] == {"type_key": ""}


def test_containers():
    a = tvm.runtime.convert([1, 2, 3])
    s = tvm.ir.save_json(a)
    b = tvm.ir.load_json(s)
    assert [int(v) for v in b] == [1, 2, 3]
    m = tvm.runtime.convert({"a": 2, "b": 3})
    bm = tvm.ir.load_json(tvm.ir.save_json(m))
    assert sorted(bm.keys()) == ["a", "b"] and int(bm["b"]) == 3
    i = tvm.ir.load_json(tvm.ir.save_json(tvm.tir.IntImm("int32", 4)))
    assert i.value == 4 and i.dtype == "int32"
    r = tvm.ir.load_json(tvm.ir.save_json(tvm.ir.Range(0, 10)))
    assert int(r.extent) == 10


if __name__ == "__main__":
    test_basics(); test_call_attrs(); test_sharing(); test_module_and_file(pathlib.Path(tempfile.mkdtemp())); test_containers()
