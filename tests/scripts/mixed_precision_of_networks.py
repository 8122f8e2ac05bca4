"""ToMixedPrecision with rules of a script, as TVM's tests and the guide use it."""
import numpy as np
import tvm
from tvm import relay
from tvm.relay.op import register_mixed_precision_conversion
from tvm.relay.testing import mobilenet
from tvm.relay.testing.temp_op_attr import TempOpAttr
from tvm.relay.transform import InferType, ToMixedPrecision
from tvm.relay.transform.mixed_precision import MIXED_PRECISION_ALWAYS, MIXED_PRECISION_FOLLOW, MIXED_PRECISION_NEVER

target_precision = "float16"


def run_module(mod, mod_params):
    dev = tvm.device("llvm", 0)
    result = relay.create_executor("debug", mod, device=dev, target="llvm").evaluate()(**mod_params)
    if isinstance(result, tvm.runtime.container.ADT):
        return [r.numpy() for r in result]
    return [result.numpy()]


def verify_mixed_precision_output_close(mod, mod_params, mixed_precision_dtype="float16", rtol=1e-3, atol=0, keep_orig_output_dtype=False):
    mod = InferType()(mod)
    result_fp32 = run_module(mod, mod_params)
    if not keep_orig_output_dtype:
        amp_mod = ToMixedPrecision(mixed_precision_dtype)(mod)
        result_amp = run_module(amp_mod, mod_params)
    else:
        with tvm.transform.PassContext(config={"relay.ToMixedPrecision.keep_orig_output_dtype": True}):
            amp_mod = ToMixedPrecision(mixed_precision_dtype)(mod)
            result_amp = run_module(amp_mod, mod_params)
    if mixed_precision_dtype != "bfloat16":
        for fp32, amp in zip(result_fp32, result_amp):
            np.testing.assert_allclose(fp32, amp, rtol=rtol, atol=atol)
    if keep_orig_output_dtype:
        assert np.array([fp32.dtype == amp.dtype for fp32, amp in zip(result_fp32, result_amp)]).all()
    return amp_mod


def test_lstm_float64():
    data, weight = relay.var("data", shape=(8, 16)), relay.var("weight", shape=(4, 16))
    mod = tvm.IRModule.from_expr(relay.Function([data, weight], relay.nn.softmax(relay.nn.dense(data, weight))))
    params = {"data": np.random.rand(8, 16).astype("float32"), "weight": np.random.rand(4, 16).astype("float32")}
    amp = verify_mixed_precision_output_close(mod, params, rtol=0.01, atol=0.01)
    assert "float16" in str(amp)
    kept = verify_mixed_precision_output_close(mod, params, rtol=0.01, atol=0.01, keep_orig_output_dtype=True)
    assert InferType()(kept)["main"].checked_type.ret_type.dtype == "float32"


def test_convert_single_conv():
    data, weight = relay.var("data", shape=(1, 3, 8, 8)), relay.var("weight", shape=(5, 3, 3, 3))
    conv = relay.nn.conv2d(data, weight, strides=(1, 1), padding=(1, 1), out_dtype="float32")
    mod = InferType()(tvm.IRModule.from_expr(relay.Function([data, weight], conv)))
    params = {"data": np.random.uniform(-1, 1, size=(1, 3, 8, 8)).astype("float32"), "weight": np.random.uniform(-1, 1, size=(5, 3, 3, 3)).astype("float32")}
    amp = verify_mixed_precision_output_close(mod, params, atol=0.02, rtol=0.02)
    casts = []
    relay.analysis.post_order_visit(amp["main"], lambda n: casts.append(n) if isinstance(n, relay.Call) and n.op.name == "cast" else None)
    assert len(casts) >= 2 and all(c.attrs["dtype"] in ("float16", "float32") for c in casts)


def test_rules_of_a_script():
    x = relay.var("x", shape=(4, 4))
    mod = InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.nn.dense(relay.exp(x), relay.exp(x)))))
    with TempOpAttr("nn.dense", "FTVMMixedPrecisionConversionType", lambda call_node, dtype: [MIXED_PRECISION_NEVER, "float32", "float32"]):
        untouched = ToMixedPrecision("float16")(mod)
    assert "float16" not in str(untouched) and "float16" in str(ToMixedPrecision("float16")(mod))
    assert (MIXED_PRECISION_ALWAYS, MIXED_PRECISION_FOLLOW, MIXED_PRECISION_NEVER) == (0, 1, 2) and callable(register_mixed_precision_conversion)


def test_network():
    mod, params = mobilenet.get_workload(batch_size=1, image_shape=(3, 32, 32), num_classes=10)
    mod = relay.transform.FoldConstant()(InferType()(mod))
    amp = ToMixedPrecision("float16")(InferType()(mod))
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(amp, "llvm", params=params)
    m = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu()))
    m.run(data=np.random.rand(1, 3, 32, 32).astype("float32"))
    assert m.get_output(0).shape == (1, 10)
