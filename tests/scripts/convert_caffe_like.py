import numpy as np
import tvm
from tvm import relay
from tvm.ir import IRModule
from tvm.relay import op as _op, expr as _expr, analysis, function as _function
from tvm.relay.frontend.common import ExprTable, infer_shape as _infer_shape, infer_type, set_span, try_infer_value, fold_constant, shape_of, to_int_list, unbind, get_relay_op, lstm_cell, gru_cell
class OperatorConverter(object):
    def __init__(self, net, blobs, exp_tab):
        self.net, self.blobs, self.exp_tab = net, blobs, exp_tab
        self.convert_map = {"Convolution": self.convert_conv, "ReLU": self.convert_relu, "Pooling": self.convert_pooling, "InnerProduct": self.convert_fc, "Softmax": self.convert_softmax, "Eltwise": self.convert_eltwise, "Concat": self.convert_concat, "Slice": self.convert_slice, "LRN": self.convert_lrn, "Scale": self.convert_scale, "BatchNorm": self.convert_bn, "PReLU": self.convert_prelu, "Crop": self.convert_crop, "Permute": self.convert_permute, "Reshape": self.convert_reshape, "Deconvolution": self.convert_deconv, "Reduction": self.convert_reduction}
    def inp(self, l): return [self.exp_tab.get_expr(b) for b in l["bottom"]]
    def convert_conv(self, l):
        w, b = self.blobs[l["name"]]; e = _op.nn.conv2d(data=self.inp(l)[0], weight=self.exp_tab.new_const(w, dtype="float32"), strides=(l["stride"],) * 2, padding=(l["pad"],) * 2, dilation=(1, 1), groups=l.get("group", 1), channels=w.shape[0], kernel_size=w.shape[2:]); return _op.nn.bias_add(e, self.exp_tab.new_const(b, dtype="float32"))
    def convert_deconv(self, l):
        w, b = self.blobs[l["name"]]; e = _op.nn.conv2d_transpose(data=self.inp(l)[0], weight=self.exp_tab.new_const(w, dtype="float32"), strides=(2, 2), padding=(0, 0), channels=w.shape[1], kernel_size=w.shape[2:], kernel_layout="IOHW"); return _op.nn.bias_add(e, self.exp_tab.new_const(b))
    def convert_relu(self, l): return _op.nn.leaky_relu(self.inp(l)[0], alpha=l["slope"]) if l.get("slope") else _op.nn.relu(self.inp(l)[0])
    def convert_pooling(self, l):
        e = self.inp(l)[0]
        if l.get("global"): return _op.nn.global_max_pool2d(e) if l["pool"] == "MAX" else _op.nn.global_avg_pool2d(e)
        p = dict(pool_size=(l["k"],) * 2, strides=(l["s"],) * 2, padding=(0, 0), ceil_mode=True)
        return _op.nn.max_pool2d(e, **p) if l["pool"] == "MAX" else _op.nn.avg_pool2d(e, count_include_pad=True, **p)
    def convert_fc(self, l):
        w, b = self.blobs[l["name"]]; e = _op.reshape(self.inp(l)[0], newshape=(-1, w.shape[1])); return _op.nn.bias_add(_op.nn.dense(e, self.exp_tab.new_const(w), units=w.shape[0]), self.exp_tab.new_const(b), axis=-1)
    def convert_softmax(self, l): return _op.nn.softmax(self.inp(l)[0], axis=l.get("axis", 1))
    def convert_eltwise(self, l):
        es = self.inp(l); out = es[0]
        for e in es[1:]: out = {"SUM": _op.add, "PROD": _op.multiply, "MAX": _op.maximum}[l["op"]](out, e)
        return out
    def convert_concat(self, l): return _op.concatenate(tuple(self.inp(l)), axis=1)
    def convert_slice(self, l): return _op.split(self.inp(l)[0], l["points"], axis=1)
    def convert_lrn(self, l): return _op.nn.lrn(self.inp(l)[0], size=l["size"], axis=1, bias=1.0, alpha=1e-4, beta=0.75)
    def convert_scale(self, l):
        g, b = self.blobs[l["name"]]; e = self.inp(l)[0]; sh = _infer_shape(e); assert sh[1] == len(g); return _op.add(_op.multiply(e, _op.reshape(self.exp_tab.new_const(g), (1, -1, 1, 1))), _op.reshape(self.exp_tab.new_const(b), (1, -1, 1, 1)))
    def convert_bn(self, l):
        m, v = self.blobs[l["name"]]; n = len(m); return _op.nn.batch_norm(self.inp(l)[0], _expr.const(np.ones(n, "float32")), _expr.const(np.zeros(n, "float32")), self.exp_tab.new_const(m), self.exp_tab.new_const(v), epsilon=1e-5, scale=False, center=False)[0]
    def convert_prelu(self, l): return _op.nn.prelu(self.inp(l)[0], self.exp_tab.new_const(self.blobs[l["name"]][0]), axis=1)
    def convert_crop(self, l): a, b = self.inp(l); sb = _infer_shape(b); return _op.strided_slice(_op.slice_like(a, b, axes=(2, 3)), begin=[0] * len(sb), end=list(sb))
    def convert_permute(self, l): return _op.transpose(self.inp(l)[0], l["order"])
    def convert_reshape(self, l): return _op.reshape(self.inp(l)[0], l["dims"])
    def convert_reduction(self, l): return _op.sum(_op.reshape(self.inp(l)[0], (0, -1)), axis=1)
    def go(self):
        for l in self.net:
            if l["type"] not in self.convert_map: raise tvm.error.OpNotImplemented("The following operators are not supported in frontend Caffe: {}".format(l["type"]))
            out = set_span(self.convert_map[l["type"]](l), l["name"])
            tops = l["top"]
            if len(tops) == 1: self.exp_tab.set_expr(tops[0], out)
            else:
                for i, t in enumerate(tops): self.exp_tab.set_expr(t, out[i])
rng = np.random.RandomState(0); r = lambda *s: rng.randn(*s).astype("float32")
L = lambda name, type, bottom, top=None, **k: dict(name=name, type=type, bottom=bottom, top=top or [name], **k)
net = [L("conv1", "Convolution", ["data"], stride=1, pad=1), L("bn1", "BatchNorm", ["conv1"]), L("sc1", "Scale", ["bn1"]), L("relu1", "ReLU", ["sc1"]), L("pool1", "Pooling", ["relu1"], pool="MAX", k=3, s=2), L("lrn", "LRN", ["pool1"], size=5), L("sl", "Slice", ["lrn"], ["sa", "sb"], points=[3]), L("cat", "Concat", ["sa", "sb", "sa"]), L("pr", "PReLU", ["cat"]), L("el", "Eltwise", ["pr", "cat"], op="SUM"), L("up", "Deconvolution", ["el"]), L("crop", "Crop", ["up", "el"]), L("gp", "Pooling", ["crop"], pool="AVE", **{"global": True}), L("fc", "InnerProduct", ["gp"]), L("prob", "Softmax", ["fc"])]
blobs = {"conv1": (r(8, 3, 3, 3), r(8)), "bn1": (r(8), abs(r(8))), "sc1": (r(8), r(8)), "pr": (r(11),), "up": (r(11, 4, 2, 2), r(4)), "fc": (r(5, 4), r(5))}
etab = ExprTable(); etab.set_expr("data", _expr.var("data", shape=(1, 3, 13, 13), dtype="float32"))
OperatorConverter(net, blobs, etab).go()
out = etab.get_expr("prob"); func = _function.Function(analysis.free_vars(out), out); params = {k: tvm.nd.array(np.array(v)) for k, v in etab.params.items()}; mod = IRModule.from_expr(func)
assert mod["main"].body.span is not None
mod = relay.transform.InferType()(mod); assert _infer_shape(mod["main"].body) == (1, 5)
with tvm.transform.PassContext(opt_level=3): lib = relay.build(mod, "llvm", params=params)
m = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu(0))); m.set_input("data", r(1, 3, 13, 13)); m.run(); assert abs(m.get_output(0).numpy().sum() - 1) < 1e-4
try: OperatorConverter([L("x", "Nope", ["data"])], {}, etab).go(); assert False
except tvm.error.OpNotImplemented as e: assert "Nope" in str(e)
v, ok = try_infer_value(relay.const(2.0) * relay.const(3.0)); assert ok and v == 6
assert isinstance(fold_constant(relay.const(1.0) + relay.const(1.0)), relay.Constant); assert to_int_list(np.array([1, 2])) == [1, 2]
print("ok")
