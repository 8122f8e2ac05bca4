"""tvm.transform, relay.transform, tvm.instrument: passes, their contexts, and what they make of programs."""

import inspect
import threading

import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay
from tvm.ir import IRModule
from tvm.ir.instrument import PassTimingInstrument, pass_instrument
from tvm.relay import transform
from tvm.relay.testing import count_ops, run_infer_type, run_opt_pass


def conv_relu():
    x, w = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3))
    y = relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1)) + relay.const(1.0))
    return relay.Function([x, w], y)


def test_fold_constant():
    c = relay.const(np.arange(6, dtype="float32").reshape(2, 3))
    x = relay.var("x", shape=(3, 2))
    before = relay.Function([x], relay.transpose(c + c) * x)
    after = run_opt_pass(before, transform.FoldConstant())
    expected = run_infer_type(relay.Function([x], relay.const((c.data.numpy() * 2).T.copy()) * x))
    tvm.ir.assert_structural_equal(after, expected)


@pytest.mark.parametrize("fold_qnn", [False, True])
def test_fold_constant_of_quantised_operators(fold_qnn):
    quantised = relay.qnn.op.quantize(relay.const([1.0, 2.0]), relay.const(0.5), relay.const(0), out_dtype="int8")
    after = run_opt_pass(relay.Function([], quantised), transform.FoldConstant(fold_qnn=fold_qnn))
    assert isinstance(after.body, relay.Constant) == fold_qnn
    if fold_qnn:
        assert after.body.data.numpy().tolist() == [2, 4]


def test_fuse_ops():
    fused = run_opt_pass(conv_relu(), transform.FuseOps(fuse_opt_level=2))
    call = fused.body
    assert isinstance(call.op, relay.Function) and call.op.attrs["Primitive"] == 1
    assert count_ops(call.op) == {"nn.conv2d": 1, "add": 1, "nn.relu": 1}
    alone = run_opt_pass(conv_relu(), transform.FuseOps(fuse_opt_level=0))
    assert len(set(map(str, count_ops(alone)))) == 3 and count_ops(alone.body.op) == {"nn.relu": 1}


def test_defuse_undoes_fusion():
    plain = run_infer_type(conv_relu())
    again = run_opt_pass(run_opt_pass(plain, transform.FuseOps()), transform.DefuseOps())
    tvm.ir.assert_structural_equal(run_infer_type(again), plain)


def test_dead_code_elimination():
    x, dead = relay.var("x", shape=(2,)), relay.var("dead")
    before = relay.Function([x], relay.Let(dead, relay.exp(x), relay.tanh(x)))
    after = run_opt_pass(before, transform.DeadCodeElimination())
    tvm.ir.assert_structural_equal(after, run_infer_type(relay.Function([x], relay.tanh(x))))
    used = relay.Let(dead, relay.exp(x), dead)
    assert isinstance(run_opt_pass(relay.Function([x], used), transform.DeadCodeElimination()).body, relay.Let)
    assert isinstance(run_opt_pass(relay.Function([x], used), transform.DeadCodeElimination(inline_once=True)).body, relay.Call)


def test_eliminate_common_subexpr():
    x = relay.var("x", shape=(2,))
    before = relay.Function([x], relay.exp(x + relay.const(1.0)) * relay.tanh(x + relay.const(1.0)))
    assert count_ops(before)["add"] == 2
    assert count_ops(run_opt_pass(before, transform.EliminateCommonSubexpr()))["add"] == 1


def test_anf_and_back():
    x = relay.var("x", shape=(2,))
    shared = relay.exp(x)
    func = relay.Function([x], shared + shared)
    anf = run_opt_pass(func, transform.ToANormalForm())
    assert isinstance(anf.body, relay.Let)
    graph = run_opt_pass(anf, transform.ToGraphNormalForm())
    tvm.ir.assert_structural_equal(graph, run_infer_type(func))


def test_basic_block_normal_form():
    c, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=(2,))
    shared = relay.exp(x)
    func = run_infer_type(relay.Function([c, x], relay.If(c, shared + shared, shared)))
    with pytest.raises(tvm.error.TVMError, match="not in basic block normal form: a node that several branches or functions use"):
        relay.analysis.check_basic_block_normal_form(func)
    assert relay.analysis.check_basic_block_normal_form(run_opt_pass(func, transform.ToBasicBlockNormalForm()))


def test_simplify_inference_drops_dropout_and_batch_norm():
    x = relay.var("x", shape=(1, 4, 3, 3))
    rest = [relay.var(n, shape=(4,)) for n in "abcd"]
    func = relay.Function([x, *rest], relay.nn.dropout(relay.nn.batch_norm(x, *rest)[0]))
    ops = count_ops(run_opt_pass(func, transform.SimplifyInference()))
    assert "nn.batch_norm" not in ops and "nn.dropout" not in ops


def test_simplify_expr():
    x = relay.var("x", shape=(2, 3, 4))
    func = relay.Function([x], relay.reshape(relay.reshape(x, (6, 4)), (24,)))
    after = run_opt_pass(func, transform.SimplifyExpr())
    assert count_ops(after) == {"reshape": 1}


def test_canonicalize_ops_turns_bias_add_into_add():
    x, b = relay.var("x", shape=(1, 4, 2, 2)), relay.var("b", shape=(4,))
    ops = count_ops(run_opt_pass(relay.Function([x, b], relay.nn.bias_add(x, b)), transform.CanonicalizeOps()))
    assert "nn.bias_add" not in ops and ops["add"] == 1


def test_fold_scale_axis():
    x, w = relay.var("x", shape=(1, 4, 6, 6)), relay.const(np.random.rand(4, 4, 3, 3).astype("float32"))
    scale = relay.const(np.random.rand(4, 1, 1).astype("float32") + 1)
    func = relay.Function([x], relay.multiply(relay.nn.conv2d(x, w, channels=4, kernel_size=(3, 3)), scale))
    passes = tvm.transform.Sequential([transform.InferType(), transform.BackwardFoldScaleAxis(), transform.FoldConstant()])
    with tvm.transform.PassContext(opt_level=3):
        after = passes(IRModule.from_expr(func))["main"]
    assert count_ops(after) == {"nn.conv2d": 1}
    data = np.random.rand(1, 4, 6, 6).astype("float32")
    results = [relay.create_executor("graph").evaluate(f)(data).numpy() for f in (func, after)]
    tvm.testing.assert_allclose(*results, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("make, op, wanted", [
    (lambda x: [relay.nn.conv2d(x, relay.const(np.ones((2, 4, 1, 1), "float32"))) for _ in range(3)], "nn.conv2d", 1),
    (lambda x: [relay.nn.conv2d(x, relay.const(np.ones((2, 4, 1, 1), "float32"))) for _ in range(2)], "nn.conv2d", 2),
])  # fmt: skip
def test_combine_parallel_conv2d(make, op, wanted):
    x = relay.var("x", shape=(1, 4, 5, 5))
    func = relay.Function([x], relay.Tuple(make(x)))
    after = run_opt_pass(func, transform.CombineParallelConv2D(min_num_branches=3))
    assert count_ops(after)[op] == wanted


def test_combine_parallel_dense():
    x = relay.var("x", shape=(2, 4))
    ws = [relay.var(f"w{i}", shape=(3, 4)) for i in range(3)]
    func = relay.Function([x, *ws], relay.Tuple([relay.nn.dense(x, w) for w in ws]))
    assert "nn.batch_matmul" in count_ops(run_opt_pass(func, transform.CombineParallelDense(3)))
    assert count_ops(run_opt_pass(func, transform.CombineParallelDense(3, to_batch=False)))["nn.dense"] == 1


def test_inline_and_remove_unused():
    mod = IRModule()
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    mod["twice"] = relay.Function([x], x + x).with_attr("Inline", 1)
    mod["main"] = relay.Function([y], relay.exp(mod.get_global_var("twice")(y)))
    inlined = transform.Inline()(mod)
    assert count_ops(inlined["main"])["add"] == 1
    mod["unused"] = relay.Function([x], x)
    left = transform.RemoveUnusedFunctions()(mod)
    assert "unused" not in left and "twice" in left


def test_lambda_lift():
    x = relay.var("x", shape=(2,))
    inner = relay.var("inner", shape=(2,))
    closure = relay.Function([inner], inner + x)
    mod = transform.LambdaLift()(IRModule.from_expr(relay.Function([x], relay.Call(closure, [x]))))
    assert len(mod.functions) == 2


def test_expression_forms_of_passes():
    x = relay.var("x", shape=(2,))
    assert isinstance(transform.ToANormalFormExpr(relay.exp(x + x)), relay.Let)
    folded = transform.FoldConstantExpr(relay.const(1.0) + relay.const(2.0), IRModule())
    assert folded.data.numpy() == 3
    assert transform.InferTypeLocal(x + x) == relay.TensorType((2,), "float32")


def composites():
    from tvm.relay.dataflow_pattern import is_op, wildcard

    return transform.MergeComposite([("act", is_op("nn.relu")(wildcard()))])


def norms():
    x, w = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3))
    y = relay.nn.relu(relay.nn.conv2d(x, w)) / relay.const(2.0)
    y = relay.nn.batch_norm(relay.exp(y), *[relay.const(np.ones(4, "float32")) for _ in range(4)])[0]
    return relay.Function([x, w], relay.concatenate([y] * 6, 1))


@pytest.mark.parametrize("make", [
    composites, transform.SimplifyInference, transform.DivToMul, transform.FastMath, lambda: transform.SplitArgs(3), transform.CanonicalizeOps,
    lambda: transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]}), transform.FuseOps, lambda: transform.ToMixedPrecision("float16"),
    lambda: transform.AnnotateTarget("none_has_it"),
])  # fmt: skip
@pytest.mark.parametrize("alone", [True, False])
def test_what_a_pass_made_is_typed(make, alone):
    mod, seen = IRModule.from_expr(norms()), []

    def look(made, ctx=None):
        for var in made.get_global_vars():
            relay.analysis.post_order_visit(made[var], lambda e: seen.append(e.checked_type) if not isinstance(e, tvm.ir.Op) else None)
        return made

    with tvm.transform.PassContext(opt_level=4):
        if alone:
            look(make()(mod))
        else:
            tvm.transform.Sequential([make(), tvm.transform.module_pass(look, opt_level=0)])(mod)
    assert len(seen) > 5


def test_passes_of_relay_leave_what_they_made_untyped():
    import relay as plain

    text = "def @main(%x: Tensor[(2), float32]) { %x / 2f }"
    made = plain.transform.create("DivToMul")(plain.parse(text))
    with pytest.raises(ValueError, match="no type yet"):
        made["main"].body.checked_type
    # Within a sequence of TVM's they give typed programs like all others.
    both = tvm.transform.Sequential([plain.transform.create("DivToMul")])(plain.parse(text))
    assert both["main"].body.checked_type == relay.TensorType((2,), "float32")


def test_results_of_passes_on_untyped_programs_are_typed_where_they_can_be():
    x = relay.var("x", shape=(1, 4))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.exp(x))))
    assert relay.transform.ChangeBatch({x: 0}, 5)(mod)["main"].checked_type.ret_type == relay.TensorType((5, 4), "float32")
    assert relay.transform.ToANormalForm()(mod)["main"].body.checked_type == relay.TensorType((1, 4), "float32")
    wrong = tvm.IRModule.from_expr(relay.Function([x], relay.add(x, relay.const(1.0, "float64"))))
    left = tvm.transform.module_pass(lambda m, c: wrong, opt_level=0)(mod)
    assert left.same_as(wrong)  # what a pass of the script made is for InferType to refuse


def test_levels_and_requirements_of_passes():
    assert relay.transform.FuseOps().info.opt_level == 0 and relay.transform.LazyGradientInit().info.opt_level == 2
    assert list(relay.transform.FuseOps().info.required) == ["InferType"]
    assert list(relay.transform.InferType().info.required) == []
    assert list(tvm.transform.module_pass(lambda m, c: m, opt_level=1).info.required) == []


def test_fuse_ops_at_level_0_gives_each_operator_a_function():
    x = relay.var("x", shape=(4,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(relay.nn.relu(x))))
    for level, groups in ((0, 2), (2, 1)):
        with tvm.transform.PassContext(opt_level=level):
            fused = tvm.transform.Sequential([relay.transform.FuseOps()])(mod)
        assert fused["main"].astext().count("Primitive=1") == groups


def test_the_module_of_a_pass_is_the_one_that_it_gave():
    mod, other = IRModule.from_expr(relay.const(1.0)), IRModule.from_expr(relay.const(2.0))
    assert tvm.transform.module_pass(lambda m, c: other, opt_level=1)(mod).same_as(other)
    assert tvm.transform.module_pass(lambda m, c: m, opt_level=1)(mod).same_as(mod)


def test_passes_see_and_set_attributes_of_modules():
    seen = []

    @tvm.transform.module_pass(opt_level=0)
    def sets(mod, ctx):
        seen.append(dict(mod.attrs or {}))
        return mod.with_attr("made by", "sets")

    @transform.function_pass(opt_level=0)
    def reads(func, mod, ctx):
        seen.append(dict(mod.attrs or {}))
        return relay.Function(func.params, relay.exp(func.body))

    mod = IRModule.from_expr(relay.const(1.0)).with_attr("k", 3)
    made = tvm.transform.Sequential([sets, reads])(mod)
    assert seen == [{"k": 3}, {"k": 3, "made by": "sets"}]
    assert dict(made.attrs) == {"k": 3, "made by": "sets"} and dict(mod.attrs) == {"k": 3}


def test_module_pass_decorator():
    @tvm.transform.module_pass(opt_level=2, name="add_helper", required=[])
    def add_helper(mod, ctx):
        new = IRModule({**mod.functions})
        y = relay.var("y", shape=(1,))
        new["helper"] = relay.Function([y], y)
        return new

    assert isinstance(add_helper, tvm.transform.ModulePass) and add_helper.info.name == "add_helper" and add_helper.info.opt_level == 2
    mod = IRModule.from_expr(relay.const(1.0))
    assert "helper" in add_helper(mod) and "helper" not in mod


def test_function_pass_on_a_class_with_state():
    @transform.function_pass(opt_level=1)
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        def transform_function(self, func, mod, ctx):
            return relay.Function(func.params, func.body * relay.const(self.factor))

    x = relay.var("x", shape=(2,))
    mod = tvm.transform.Sequential([Scale(2.0), Scale(3.0)], opt_level=1)(IRModule.from_expr(relay.Function([x], x)))
    assert relay.create_executor(mod=mod).evaluate()(np.ones(2, "float32")).numpy().tolist() == [6, 6]


def test_a_pass_has_the_attributes_of_what_it_runs():
    @relay.transform.function_pass(opt_level=1)
    class K:
        def __init__(self, a):
            self.a = a

        def transform_function(self, func, mod, ctx):
            return func

    k = K(3)
    assert k.a == 3 and isinstance(k, K) and isinstance(k, tvm.transform.Pass)


def test_pass_context():
    assert tvm.transform.PassContext.current().opt_level == 2
    with tvm.transform.PassContext(opt_level=4, required_pass=["FoldConstant"], disabled_pass=["FuseOps"]):
        current = tvm.transform.PassContext.current()
        assert current.opt_level == 4 and list(current.required_pass) == ["FoldConstant"] and list(current.disabled_pass) == ["FuseOps"]
        with tvm.transform.PassContext(opt_level=0):
            assert tvm.transform.PassContext.current().opt_level == 0
        assert tvm.transform.PassContext.current().opt_level == 4
    assert tvm.transform.PassContext.current().opt_level == 2


def test_config_keys():
    with tvm.transform.PassContext(config={"relay.FuseOps.max_depth": 1}) as context:
        assert context.config["relay.FuseOps.max_depth"] == 1
        assert count_ops(run_opt_pass(conv_relu(), transform.FuseOps()).body.op) == {"nn.relu": 1}
    with pytest.raises(AttributeError, match="no config option 'relay.FuseOps.max_dept'; did you mean relay.FuseOps.max_depth"):
        tvm.transform.PassContext(config={"relay.FuseOps.max_dept": 1})
    for key in ("PassContext fields", "tvm.nothing", 3):
        with pytest.raises(AttributeError, match=f"PassContext has no config option {key!r}; there are relay.FuseOps.link_params, "):
            tvm.transform.PassContext(config={key: 1})
    elsewhere = {"tir.disable_vectorize": True, "relay.ToMixedPrecision.keep_orig_output_dtype": True, "relay.ext.ethos-u.options": {}}
    with tvm.transform.PassContext(config={"relay.FuseOps.max_depth": 3, **elsewhere}):
        assert tvm.transform.PassContext.current().config == {"relay.FuseOps.max_depth": 3, **elsewhere}


@pytest.mark.parametrize("key", [
    "relay.fallback_device_type", "relay.FuseOps.max_depth", "relay.FuseOps.link_params", "relay.ToMixedPrecision.keep_orig_output_dtype",
    "relay.backend.use_auto_scheduler", "relay.backend.use_meta_schedule", "relay.backend.use_meta_schedule_dispatch",
    "relay.backend.tir_converter", "relay.remove_standalone_reshapes.enable", "relay.collage.tvm_max_depth",
    "relay.collage.byoc_max_depth", "relay.collage.byoc_fusion_style", "relay.frontend.fill_span", "relay.ext.cmsisnn.options",
    "relay.ext.ethos-n.options", "relay.ext.ethos-u.options", "relay.ext.mrvl.options", "relay.ext.verilator.options",
    "relay.ext.vitis_ai.options", "relay.ext.vitis_ai.options.target", "relay.ext.vitis_ai.options.build_dir",
    "relay.ext.vitis_ai.options.work_dir", "relay.ext.vitis_ai.options.export_runtime_module",
    "relay.ext.vitis_ai.options.load_runtime_module", "ir.enable_si_builder", "testing.immutable_module", "te.keep_schedule_record",
    "tir.disable_vectorize", "tir.usmp.enable",
])  # fmt: skip
def test_keys_of_tvm_are_taken(key):
    """Those that concern what is not here change nothing."""
    value = False if key == "relay.FuseOps.link_params" else 1
    assert tvm.transform.PassContext(config={key: value}).config == {key: value}


def test_common_calls_that_are_skipped():
    x = relay.var("x", shape=(2,))
    func = relay.Function([x], (relay.exp(x) + relay.exp(x)) * relay.log(x) * relay.log(x))
    skip = lambda e: isinstance(e, relay.expr.Call) and e.op.name == "exp"  # noqa: E731

    def separate(fskip):
        mod = transform.EliminateCommonSubexpr(fskip)(transform.InferType()(IRModule.from_expr(func)))
        found = []
        relay.analysis.post_order_visit(mod["main"], lambda e: found.append(e.op.name) if isinstance(e, relay.Call) else None)
        return found.count("exp"), found.count("log")

    assert separate(None) == (1, 1) and separate(skip) == (2, 1) and separate(lambda e: False) == (1, 1)
    answers = iter([True, False] * 10)
    with pytest.raises(NotImplementedError, match="fskip tells calls of exp apart; what is skipped is chosen by operator"):
        separate(lambda e: next(answers))
    halves = relay.split(x, 2)
    with pytest.raises(NotImplementedError, match="fskip says True of a projection"):
        run_opt_pass(halves[0] + halves[1], transform.EliminateCommonSubexpr(lambda e: isinstance(e, relay.TupleGetItem)))
    with pytest.raises(TypeError, match="fskip is a function of an expression, not str"):
        transform.EliminateCommonSubexpr("exp")


def test_devices_are_planned_for_what_programs_are_compiled_for():
    x = relay.var("x", shape=(2,))
    made = tvm.target.make_compilation_config(tvm.transform.PassContext(), "llvm")
    for config in (made, "llvm", tvm.target.Target("llvm")):
        assert run_opt_pass(relay.Function([x], x + x), transform.PlanDevices(config)) is not None
    with pytest.raises(ValueError, match="no target kind is called 'garbage'"):
        transform.PlanDevices("garbage")
    with pytest.raises(NotImplementedError, match="the target cuda: programs are compiled for CPUs"):
        transform.PlanDevices("cuda")
    for wrong in (None, 3, {}):
        with pytest.raises(TypeError, match="PlanDevices: config is made by tvm.target.make_compilation_config, and is not"):
            transform.PlanDevices(wrong)
    assert "relay.FuseOps.max_depth" in tvm.transform.PassContext.list_configs()


def test_instruments():
    events = []

    @pass_instrument
    class Recorder:
        def enter_pass_ctx(self):
            events.append("enter")

        def exit_pass_ctx(self):
            events.append("exit")

        def should_run(self, mod, info):
            return info.name != "SimplifyExpr"

        def run_before_pass(self, mod, info):
            events.append(info.name)

    timing = PassTimingInstrument()
    mod = IRModule.from_expr(conv_relu())
    with tvm.transform.PassContext(instruments=[Recorder(), timing]):
        mod = tvm.transform.Sequential([transform.InferType(), transform.SimplifyExpr(), transform.FoldConstant()])(mod)
        assert "FoldConstant" in timing.render()
    assert events[0] == "enter" and events[-1] == "exit" and "FoldConstant" in events and "SimplifyExpr" not in events


def test_times_last_as_long_as_the_context():
    timing, mod = PassTimingInstrument(), IRModule.from_expr(conv_relu())
    with tvm.transform.PassContext(instruments=[timing]):
        transform.InferType()(mod)
        assert "InferType" in timing.render()
    assert timing.render() == ""
    tvm.transform.PassContext.current().override_instruments([timing])
    transform.ToANormalForm()(mod)
    assert "ToANormalForm" in timing.render() and "SimplifyExpr" not in timing.render()
    tvm.transform.PassContext.current().override_instruments(None)
    assert timing.render() == ""


class Noted:
    """An instrument that writes down when it begins, ends and sees a pass."""

    def __init__(self, name, events):
        self.name, self.events = name, events

    def enter_pass_ctx(self):
        self.events.append(f"+{self.name}")

    def exit_pass_ctx(self):
        self.events.append(f"-{self.name}")

    def run_before_pass(self, mod, info):
        self.events.append(self.name)


def test_instruments_of_contexts_that_are_not_entered():
    events, mod, outside = [], IRModule.from_expr(conv_relu()), tvm.transform.PassContext.current()
    first, second = Noted("a", events), Noted("b", events)
    context = tvm.transform.PassContext(instruments=[first])
    context.override_instruments([second])
    assert context.instruments == [second]
    for _ in range(2):
        with context:
            transform.InferType()(mod)
        assert tvm.transform.PassContext.current() is outside
    assert events == ["+b", "b", "-b"] * 2
    context.override_instruments(None)
    with context:
        transform.InferType()(mod)
    assert events == ["+b", "b", "-b"] * 2 and context.instruments == []


def test_instruments_of_nested_contexts():
    """Those of an outer context are refused before anything ends."""
    events, mod, outside = [], IRModule.from_expr(conv_relu()), tvm.transform.PassContext.current()
    with tvm.transform.PassContext(instruments=[Noted("a", events)]) as outer:
        with tvm.transform.PassContext(instruments=[Noted("b", events)]) as inner:
            with pytest.raises(ValueError, match="override_instruments is of the innermost context"):
                outer.override_instruments([Noted("c", events)])
            with pytest.raises(ValueError, match="override_instruments is of the innermost context"):
                outside.override_instruments([Noted("c", events)])
            transform.InferType()(mod)
            inner.override_instruments([Noted("d", events)])
            transform.InferType()(mod)
        assert events == ["+a", "+b", "b", "-b", "+d", "d", "-d"]
        outer.override_instruments([Noted("e", events)])
        with outer:
            transform.InferType()(mod)
        transform.InferType()(mod)
    assert events[7:] == ["-a", "+e", "+a", "a", "-a", "e", "-e"]
    assert tvm.transform.PassContext.current() is outside


def test_a_context_of_two_threads():
    """A thread that leaves a context takes its own entry away, and not that of another thread."""
    events, context = [], tvm.transform.PassContext()
    with context:
        entered, leave = threading.Event(), threading.Event()

        def other():
            with context:
                entered.set()
                leave.wait(60)
                context.override_instruments([Noted("a", events)])

        thread = threading.Thread(target=other)
        thread.start()
        entered.wait(60)
        context.override_instruments([Noted("b", events)])
        leave.set()
        thread.join()
    assert events == ["+b", "+a", "-a", "-b"]


def test_modules_are_printed_around_passes(capsys):
    shows = [tvm.ir.instrument.PrintBeforeAll(), tvm.ir.instrument.PrintAfterAll()]
    with tvm.transform.PassContext(instruments=shows):
        transform.InferType()(IRModule.from_expr(relay.const(1.0)))
    said = capsys.readouterr().out
    assert said.index("Before Running Pass: The meta data of the pass - pass name: InferType, opt_level: 0") < said.index("After Running Pass:")
    assert said.count("def @main") == 2


def test_an_error_in_a_pass_comes_out():
    @tvm.transform.module_pass(opt_level=0)
    def broken(mod, ctx):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        broken(IRModule.from_expr(relay.const(1.0)))


@pytest.mark.parametrize("place", ["module_pass", "function_pass", "enter_pass_ctx", "exit_pass_ctx", "should_run", "run_before_pass", "run_after_pass"])
def test_a_runtime_error_of_a_script_is_also_a_tvm_error(place):
    def stop_at(here):
        if here == place:
            raise RuntimeError("mine") from KeyError("first")

    @tvm.transform.module_pass(opt_level=0)
    def whole(mod, ctx):
        stop_at("module_pass")
        return mod

    @transform.function_pass(opt_level=0)
    def single(func, mod, ctx):
        stop_at("function_pass")
        return func

    methods = {name: lambda self, *args, at=name: stop_at(at) or True for name in ("enter_pass_ctx", "exit_pass_ctx", "should_run", "run_before_pass", "run_after_pass")}
    watcher = pass_instrument(type("Watcher", (), methods))
    with pytest.raises(tvm.error.TVMError, match="mine") as caught, tvm.transform.PassContext(instruments=[watcher()]):
        tvm.transform.Sequential([whole, single])(IRModule.from_expr(relay.const(1.0)))
    assert isinstance(caught.value, RuntimeError) and isinstance(caught.value.__cause__, KeyError)
    assert any("stop_at" in str(entry) for entry in caught.traceback)


def test_other_errors_of_a_script_keep_their_class():
    class Mine(RuntimeError):
        pass

    @pass_instrument
    class Watcher:
        def run_before_pass(self, mod, info):
            raise Mine("mine")

    with pytest.raises(Mine) as caught, tvm.transform.PassContext(instruments=[Watcher()]):
        transform.InferType()(IRModule.from_expr(relay.const(1.0)))
    assert type(caught.value) is Mine


def test_print_ir(capsys):
    tvm.transform.PrintIR("here")(IRModule.from_expr(relay.const(1.0)))
    said = capsys.readouterr()
    assert "PrintIR(here)" in said.err and "def @main" in said.err and said.out == ""


def test_infer_type_reports_everything():
    x = relay.var("x", shape=(2,))
    bad = relay.Tuple([x + relay.var("y", shape=(3,)), relay.nn.dense(x, x)])
    with pytest.raises(tvm.error.DiagnosticError) as caught:
        run_infer_type(bad)
    assert "add" in str(caught.value) and "nn.dense" in str(caught.value)


def test_star_import():
    names = {}
    exec("from tvm.relay.transform import *", names)
    assert {"FoldConstant", "FuseOps", "InferType", "function_pass", "Sequential"} <= set(names)


@pytest.mark.parametrize("name", ["CollagePartition"])
def test_passes_that_are_not_there_say_so(name):
    with pytest.raises(NotImplementedError, match=name):
        getattr(transform, name)("given")


def test_pass_info_takes_the_level_first():
    info = tvm.transform.PassInfo(1, "FoldConstant", ["InferType"])
    assert (info.opt_level, info.name, info.required, info.traceable) == (1, "FoldConstant", ["InferType"], False)
    own = tvm.transform.PassInfo(3, "own", ["tir.Simplify", "InferType"])
    assert (own.opt_level, own.name, own.required) == (3, "own", ["tir.Simplify", "InferType"]) and type(info).__mro__[1] is type(transform.InferType().info)
    with pytest.raises(TypeError, match="required is a list"):
        tvm.transform.PassInfo(3, "own", "InferType")


def test_contexts_and_sequences_show_what_they_are_made_of():
    class Watch:
        def run_before_pass(self, mod, info):
            pass

    watch, passes = Watch(), [transform.FoldConstant(), transform.InferType()]
    with tvm.transform.PassContext(opt_level=1, instruments=[watch], disabled_pass={"FuseOps"}):
        assert tvm.transform.PassContext.current().instruments == [watch]
    assert tvm.transform.PassContext.current().instruments == []
    assert tvm.transform.Sequential(passes).passes == passes


def test_classes_of_passes_and_facts():
    one = tvm.transform.Sequential([relay.transform.InferType()])
    assert isinstance(one, tvm.transform.Sequential) and isinstance(one, tvm.transform.Pass) and inspect.isclass(tvm.transform.Sequential)
    assert not isinstance(relay.transform.InferType(), tvm.transform.Sequential) and not isinstance([], tvm.transform.Sequential)
    assert isinstance(one.info, tvm.transform.PassInfo) and not isinstance(one, tvm.transform.PassInfo)
    info = tvm.transform.PassInfo(2, "mine", ["InferType", "NotHere"])
    assert isinstance(info, tvm.ir.transform.PassInfo) and (info.opt_level, info.name, list(info.required)) == (2, "mine", ["InferType", "NotHere"])
