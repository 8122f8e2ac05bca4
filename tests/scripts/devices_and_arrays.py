"""Devices, arrays and registered functions."""
import numpy as np, tvm

d = tvm.device('llvm', 0)
assert d == tvm.cpu(0) and d.exist and (d.device_type == 1) and (d.device_id == 0)
d.sync()
print(d, repr(d))
assert not tvm.cuda().exist and tvm.runtime.num_threads() > 0
a = tvm.nd.array(np.arange(6, dtype='int32').reshape(2, 3), device=d)
b = tvm.nd.empty((2, 3), 'int32', d)
a.copyto(b)
assert (b.numpy() == a.asnumpy()).all()
b[:] = 3
assert b.numpy().sum() == 18
assert a.shape == (2, 3) and a.dtype == 'int32' and (a.device == d)
c = tvm.nd.from_dlpack(a.to_dlpack())
e = tvm.nd.from_dlpack(a)
assert (c.numpy() == a.numpy()).all() and a.copyto(tvm.cpu()).shape == (2, 3)
assert tvm.runtime.ShapeTuple([1, 2])[1] == 2 and tvm.runtime.String('a') + 'b' == 'ab' and (len(tvm.runtime.convert([1, 2])) == 2)
f = tvm.runtime.convert(lambda x: x + 1)
assert f(1) == 2


@tvm.register_func
def my_global_fn_h3(x):
    return x * 2


assert tvm.get_global_func('my_global_fn_h3')(4) == 8
assert isinstance(tvm._ffi.registry.list_global_func_names(), list)
