"""A small serving layer: bucketed batch sizes, one VM for any size, registry of PackedFuncs, module cache on disk"""
import os
import threading
import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor, utils
from tvm.runtime.vm import VirtualMachine

K, H = 6, 3
W = np.random.RandomState(1).randn(H, K).astype("float32")


def net(bs):
    x = relay.var("x", shape=(bs, K))
    return tvm.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.nn.dense(x, relay.const(W)))))


def ref(x):
    h = x @ W.T
    e = np.exp(h - h.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


class Service:
    def __init__(self, buckets, cache_dir):
        self.mods = {}
        self.hits = {b: 0 for b in buckets}
        for b in sorted(buckets):
            path = os.path.join(cache_dir, "b%d.tar" % b)
            if not os.path.exists(path):
                with tvm.transform.PassContext(opt_level=3):
                    relay.build(net(b), "llvm").export_library(path)
            lib = tvm.runtime.load_module(path)
            self.mods[b] = graph_executor.GraphModule(lib["default"](tvm.cpu()))
        self.vm = VirtualMachine(relay.vm.compile(net(relay.Any()), "llvm"), tvm.cpu())
        self.lock = threading.Lock()

    def __call__(self, x):
        n = x.shape[0]
        for b in sorted(self.mods):
            if n <= b:
                with self.lock:
                    self.hits[b] += 1
                    buf = np.zeros((b, K), "float32")
                    buf[:n] = x
                    self.mods[b].set_input("x", buf)
                    self.mods[b].run()
                    return self.mods[b].get_output(0).numpy()[:n]
        with self.lock:
            return self.vm.run(x).numpy()


tmp = utils.tempdir()
s = Service([1, 4, 8], tmp.path)
assert sorted(os.listdir(tmp.path)) == ["b1.tar", "b4.tar", "b8.tar"]
s2 = Service([1, 4, 8], tmp.path)
errs = []


def client(seed):
    r = np.random.RandomState(seed)
    for _ in range(10):
        x = r.randn(r.randint(1, 12), K).astype("float32")
        try:
            np.testing.assert_allclose(s2(x), ref(x), rtol=1e-4, atol=1e-5)
        except BaseException as e:  # noqa: BLE001
            errs.append(e)


ts = [threading.Thread(target=client, args=(i,)) for i in range(4)]
[t.start() for t in ts]
[t.join() for t in ts]
assert not errs, errs[0]
assert sum(s2.hits.values()) > 0


@tvm.register_func("svc.predict", override=True)
def predict(arr, top):
    p = s(arr.numpy())
    return tvm.nd.array(np.argsort(-p, axis=1)[:, :top].astype("int32"))


f = tvm.get_global_func("svc.predict")
x = np.random.randn(5, K).astype("float32")
out = f(tvm.nd.array(x), 1)
assert isinstance(out, tvm.nd.NDArray) and out.dtype == "int32"
np.testing.assert_equal(out.numpy()[:, 0], ref(x).argmax(1))
with __import__("pytest").raises(ValueError):
    tvm.register_func("svc.predict", lambda: 0)
tvm.register_func("svc.predict", lambda *a: "other", override=True)
assert tvm.get_global_func("svc.predict")() == "other"
assert tvm.get_global_func("svc.none", allow_missing=True) is None

# streaming state through the VM: a running mean as tuple state
st = relay.var("st", type_annotation=relay.TupleType([relay.TensorType((K,)), relay.TensorType((), "int32")]))
v = relay.var("v", shape=(K,))
m, n = relay.TupleGetItem(st, 0), relay.TupleGetItem(st, 1)
n1 = n + relay.const(1)
upd = relay.Function([st, v], relay.Tuple([m + (v - m) / relay.cast(n1, "float32"), n1]))
vm = VirtualMachine(relay.vm.compile(tvm.IRModule.from_expr(upd), "llvm"), tvm.cpu())
state = tvm.runtime.container.tuple_object([tvm.nd.array(np.zeros(K, "float32")), tvm.nd.array(np.array(0, "int32"))])
vs = np.random.randn(7, K).astype("float32")
for row in vs:
    state = vm.invoke("main", state, row)
np.testing.assert_allclose(state[0].numpy(), vs.mean(0), rtol=1e-4, atol=1e-5)
assert state[1].numpy() == 7
print("ok")
