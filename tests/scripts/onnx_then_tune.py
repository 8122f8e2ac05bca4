"""from_onnx, then what every tuning tutorial does around relay.build."""
import os
import tempfile

import numpy as np
import pytest

import tvm
from tvm import autotvm, relay
from tvm.autotvm.tuner import GATuner, GridSearchTuner, RandomTuner, XGBTuner
from tvm.contrib import graph_executor

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402


def make_model():
    rng = np.random.RandomState(0)
    w = numpy_helper.from_array(rng.rand(8, 3, 3, 3).astype("float32"), "w")
    nodes = [
        helper.make_node("Conv", ["input", "w"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["output"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["N", 3, 16, 16])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["N", 8])], [w],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def test_tutorial():
    model = make_model()
    input_name = model.graph.input[0].name
    shape_dict = {input_name: (1, 3, 16, 16)}
    mod, params = relay.frontend.from_onnx(model, shape_dict)
    target = "llvm -mcpu=core-avx2"

    number, repeat, min_repeat_ms, timeout = 10, 1, 0, 10
    runner = autotvm.LocalRunner(number=number, repeat=repeat, timeout=timeout, min_repeat_ms=min_repeat_ms, enable_cpu_cache_flush=True)
    log = os.path.join(tempfile.mkdtemp(), "model-autotuning.json")
    tuning_option = {
        "tuner": "xgb", "trials": 20, "early_stopping": 100,
        "measure_option": autotvm.measure_option(builder=autotvm.LocalBuilder(build_func="default"), runner=runner), "tuning_records": log,
    }  # fmt: skip
    tasks = autotvm.task.extract_from_program(mod["main"], target=target, params=params)
    for i, task in enumerate(tasks):
        prefix = "[Task %2d/%2d] " % (i + 1, len(tasks))
        tuner_obj = {"xgb": XGBTuner, "ga": GATuner, "random": RandomTuner, "gridsearch": GridSearchTuner}[tuning_option["tuner"]](task)
        tuner_obj.tune(
            n_trial=min(tuning_option["trials"], len(task.config_space)), early_stopping=tuning_option["early_stopping"],
            measure_option=tuning_option["measure_option"],
            callbacks=[autotvm.callback.progress_bar(tuning_option["trials"], prefix=prefix), autotvm.callback.log_to_file(log)],
        )  # fmt: skip
    with autotvm.apply_history_best(log if os.path.exists(log) else None):
        with tvm.transform.PassContext(opt_level=3, config={}):
            lib = relay.build(mod, target=target, params=params)
    dev = tvm.device(str(target), 0)
    module = graph_executor.GraphModule(lib["default"](dev))
    module.set_input(input_name, np.random.rand(1, 3, 16, 16).astype("float32"))
    module.run()
    assert module.get_output(0, tvm.nd.empty((1, 8))).numpy().shape == (1, 8)
    ftimer = module.module.time_evaluator("run", dev, number=2, repeat=2)
    assert len(ftimer().results) == 2 and module.benchmark(dev, repeat=2, number=2).mean > 0


def test_freeze():
    mod, params = relay.frontend.from_onnx(make_model(), {"input": (2, 3, 16, 16)}, dtype="float32", opset=13, freeze_params=True)
    assert params == {} or all(k not in [p.name_hint for p in mod["main"].params] for k in params)
    mod = relay.transform.DynamicToStatic()(mod)
    mod = relay.transform.FoldConstant()(mod)
    assert len(mod["main"].params) == 1
    got = relay.create_executor("vm", mod=mod, device=tvm.cpu(), target="llvm").evaluate()(np.zeros((2, 3, 16, 16), "float32"))
    assert got.numpy().shape == (2, 8)
