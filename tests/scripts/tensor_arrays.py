"""Tensor arrays of the prelude."""
import numpy as np

import tvm
from tvm import relay
from tvm.relay.prelude import Prelude, StaticTensorArrayOps, get_tensor_array_shape


def vmobj_to_list(mod, o, dtype="float32"):
    if isinstance(o, tvm.nd.NDArray):
        return [o.numpy().tolist()]
    assert isinstance(o, tvm.runtime.container.ADT)
    if len(o) == 0:
        return []
    result = []
    for f in o:
        result.extend(vmobj_to_list(mod, f, dtype))
    return result


def run(mod, *args):
    return relay.create_executor("vm", mod=mod, device=tvm.cpu(), target="llvm").evaluate()(*args)


def test_write_and_read():
    mod = tvm.IRModule()
    p = Prelude(mod)
    dtype = "float32"
    tensor_array = p.get_global_var("tensor_array", dtype)
    write, read = p.get_global_var("tensor_array_write", dtype), p.get_global_var("tensor_array_read", dtype)
    v = relay.var("v")
    array = tensor_array(relay.const(3))
    array = write(array, relay.const(0), p.get_tensor_ctor("tensor1", dtype)(v))
    array = write(array, relay.const(2), p.get_tensor_ctor("tensor1", dtype)(v + v))
    mod["main"] = relay.Function([v], read(array, relay.const(2)))
    assert vmobj_to_list(mod, run(mod, np.array([1, 2], "float32"))) == [[2, 4]]


def test_concat_and_stack():
    for name, wanted in (("tensor_array_concat", [[1, 2, 3, 4]]), ("tensor_array_stack", [[[1, 2], [3, 4]]])):
        mod = tvm.IRModule()
        p = Prelude(mod)
        unstack = p.get_global_var("tensor_array_unstack_tensor2", "float32")
        v = relay.var("v", shape=(relay.Any(), relay.Any()))
        mod["main"] = relay.Function([v], p.get_global_var(name, "float32")(unstack(v)))
        assert vmobj_to_list(mod, run(mod, np.array([[1, 2], [3, 4]], "float32"))) == wanted


def test_static_arrays():
    mod = tvm.IRModule()
    p = Prelude(mod)
    shape = [2, 3]
    ops = StaticTensorArrayOps(p, "int32", shape)
    ops.register()
    array = ops.get_global_var("tensor_array")
    write, read = ops.get_global_var("tensor_array_write"), ops.get_global_var("tensor_array_read")
    ctor = ops.get_ctor("tensor_constructor")
    v = relay.var("v", shape=shape, dtype="int32")
    stored = write(array(relay.const(2)), relay.const(1), ctor(v))
    mod["main"] = relay.Function([v], ops.get_global_var("tensor_get_data")(read(stored, relay.const(1)))) if ops.is_cached("tensor_get_data") else relay.Function([v], read(stored, relay.const(1)))
    assert vmobj_to_list(mod, run(mod, np.ones((2, 3), "int32"))) == [[[1, 1, 1], [1, 1, 1]]]
    assert get_tensor_array_shape(stored, "int32", p) is not None


if __name__ == "__main__":
    test_write_and_read()
    test_concat_and_stack()
    test_static_arrays()
