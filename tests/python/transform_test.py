"""The pass infrastructure from Python. Names of tests say the section of the source note: contexts, infos, passes, sequences."""

import inspect
import re
import threading

import numpy as np
import pytest

import relay
from relay import _core as core
from relay import instrument, transform

TEXT = """
def @main(%x: Tensor[(3, 4), float32]) { nn.relu(add(%x, add(1f, 2f))) }
def @other(%x: Tensor[(3, 4), float32]) { %x }
"""


@pytest.fixture
def mod():
    return core.parse_module(TEXT)


def without_relu(func, mod, ctx):
    relu = core.op("nn.relu")
    body = core.rewrite_post_order(func.body, lambda e: e.args[0] if isinstance(e, core.Call) and e.op is relu else None)
    return core.Function(func.params, body)


def calls(mod):
    return [node.op.name for node in core.post_order(mod["main"].body) if isinstance(node, core.Call)]


# ---- PassContext: fields, Create, Current, nesting, a stack for each thread


def test_context_defaults():
    context = transform.PassContext()
    assert (context.opt_level, context.required_pass, context.disabled_pass, context.config) == (2, [], [], {})
    assert transform.PassContext.current().opt_level == 2


def test_contexts_nest():
    with transform.PassContext(opt_level=3) as outer:
        assert transform.PassContext.current() is outer
        with transform.PassContext(opt_level=1) as inner:
            assert transform.PassContext.current() is inner
        assert transform.PassContext.current() is outer
    assert transform.PassContext.current().opt_level == 2


def test_a_context_is_left_when_its_body_raises():
    with pytest.raises(ZeroDivisionError), transform.PassContext(opt_level=3):
        1 / 0
    assert transform.PassContext.current().opt_level == 2


def test_leaving_out_of_order_is_refused():
    outer, inner = transform.PassContext(), transform.PassContext()
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(ValueError, match="reverse order"):
        outer.__exit__(None, None, None)
    assert transform.PassContext.current() is inner
    inner.__exit__(None, None, None)


def test_each_thread_has_its_own_stack():
    seen = []
    with transform.PassContext(opt_level=4):
        thread = threading.Thread(target=lambda: seen.append(transform.PassContext.current().opt_level))
        thread.start()
        thread.join()
    assert seen == [2]


def test_configuration_is_typed():
    context = transform.PassContext(config={"relay.FuseOps.max_depth": 3, "relay.FuseOps.link_params": True})
    assert context.config == {"relay.FuseOps.max_depth": 3, "relay.FuseOps.link_params": True}
    with pytest.raises(core.RelayError, match="unknown configuration key relay.FuseOps.max_dept"):
        transform.PassContext(config={"relay.FuseOps.max_dept": 3})
    with pytest.raises(core.RelayError, match="takes a value of type int, not str"):
        transform.PassContext(config={"relay.FuseOps.max_depth": "3"})
    keys = transform.PassContext.list_configs()
    assert keys["relay.FuseOps.max_depth"]["type"] == "int" and keys["relay.FuseOps.max_depth"]["default"] == 256
    assert all(key["doc"] for key in keys.values())


def test_a_configured_pass_obeys(mod):
    with transform.PassContext(config={"relay.FuseOps.max_depth": 1}):
        single = transform.FuseOps()(mod)
    assert str(single).count("Primitive=1") > str(transform.FuseOps()(mod)).count("Primitive=1")


# ---- PassInfo: name, opt_level, required


def test_pass_info():
    info = transform.FoldConstant().info
    assert (info.name, info.opt_level) == ("FoldConstant", 2)
    made = transform.PassInfo(3, "Mine", ["InferType"])
    assert (made.opt_level, made.name, made.required) == (3, "Mine", ["InferType"])
    assert transform.PassContext(opt_level=3).pass_enabled(made) and not transform.PassContext().pass_enabled(made)


def test_every_registered_pass_is_a_function():
    assert {"InferType", "FoldConstant", "FuseOps", "ToANormalForm"} <= set(transform.names())
    needed: dict[str, dict[str, object]] = {"ApplyRules": {"rules": "rule a: exp(%x) => %x;"}, "AnnotateTarget": {"targets": "t"}, "FlexibleShapeDispatch": {"buckets": [2]}, "InlineCompilerFunctionsBoundTo": {"global_vars": []}, "MergeComposite": {"pattern_table": []}}
    for name in transform.names():
        function = getattr(transform, name)
        made = function(**needed.get(name, {}))
        assert made.info.name == name and function.__doc__
    with pytest.raises(TypeError):
        transform.FoldConstant(nonsense=1)
    with pytest.raises(AttributeError, match="no attribute 'NoSuchPass'"):
        transform.NoSuchPass
    with pytest.raises(core.RelayError, match="did you mean FoldConstant"):
        transform.create("FoldConstat")


def test_options_have_numbers_and_dictionaries():
    x, w = relay.var("x", shape=(1, 3)), relay.var("w", shape=(4, 3))
    whole = relay.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
    for axes in ({"x": 0}, {x: 0}, {"x": np.int64(-2)}, ["x: 0"], "x: 0"):
        assert transform.ChangeBatch(axes, 2)(whole)["main"].params[0].type_annotation == relay.TensorType((2, 3))
    for made in (transform.QuantizeCalibrate(scales={"quantize.scale.1.0": 0.5}), transform.FlexibleShapeDispatch([1, 2], np.int32(0)),
                 transform.Quantize(skip_conv_layers=[0]), transform.DenseToSparse(["w"], [(6, 2, 2, 6, 3)]), transform.Conv2dToSparse2(blocksize=(1, 2)),
                 transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]}), transform.Quantize(global_scale=np.float32(4))):  # fmt: skip
        assert isinstance(made, transform.Pass)
    assert str(inspect.signature(transform.DenseToSparse2)) == "(blocksize=[1, 1], sparsity_threshold=0.8)"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: transform.ConvertLayout({"nn.conv2d": "NHWC"}), "option desired_layouts of ConvertLayout for nn.conv2d is a number or a list, not 'NHWC'"),
        (lambda: transform.ChangeBatch({1: 0}), "a name in option data of ChangeBatch is a Var, not 1"),
        (lambda: transform.ChangeBatch({"x": [None]}), "option data of ChangeBatch for x is of texts and numbers, not None"),
        (lambda: transform.RemoveUnusedFunctions([None]), "an entry of option entry_functions of RemoveUnusedFunctions is a text, a number or a list, not None"),
        (lambda: transform.RemoveUnusedFunctions(5), "option entry_functions of RemoveUnusedFunctions is a list, not 5"),
        (lambda: transform.FoldConstant(1), "option fold_qnn of FoldConstant is a bool, not 1"),
        (lambda: transform.FoldConstant(max_growth=True), "option max_growth of FoldConstant is an integer, not True"),
        (lambda: transform.FoldConstant(foo=1), "pass FoldConstant has no option foo: it has fold_qnn, max_growth, max_work"),
        (lambda: transform.FoldConstant(max_grow=1), "pass FoldConstant has no option max_grow: did you mean max_growth?"),
        (lambda: transform.InferType(x=1), "pass InferType has no option x: it has none"),
        (lambda: transform.FoldConstant(True, 1, 2, 3), "pass FoldConstant has 3 options, and 4 are given"),
    ],
)
def test_wrong_options(make, text):
    with pytest.raises(TypeError, match=f"^{re.escape(text)}$"):
        make()
    with pytest.raises(OverflowError, match="option batch_size of ChangeBatch is an integer of 64 bits"):
        transform.ChangeBatch(batch_size=2**70)


# ---- ModulePass, FunctionPass


def test_a_class_without_its_decorator(mod):
    class Forgotten(transform.FunctionPass):
        def transform_function(self, func, mod, ctx):
            return func

    class Whole(transform.ModulePass):
        def transform_module(self, mod, ctx):
            return mod

    for made, decorator in ((Forgotten(), "function_pass"), (Whole(), "module_pass")):
        with pytest.raises(TypeError, match=f"class {type(made).__name__} makes no passes yet: write @relay.transform.{decorator}"):
            made(mod)


def test_function_pass_of_a_function(mod):
    strip = transform.function_pass(without_relu, opt_level=1)
    assert strip.info.name == "without_relu"
    result = strip(mod)
    assert calls(mod) == ["add", "add", "nn.relu"] and calls(result) == ["add", "add"]


def test_function_pass_of_a_class(mod):
    @transform.function_pass(opt_level=1)
    class Strip:
        """Takes one operator away."""

        def __init__(self, name):
            self.name = name

        def transform_function(self, func, mod, ctx):
            assert isinstance(mod, core.IRModule) and isinstance(ctx, transform.PassContext)
            return without_relu(func, mod, ctx) if self.name == "nn.relu" else func

    assert calls(Strip("nn.relu")(mod)) == ["add", "add"]
    assert Strip("add")(mod) is mod
    assert Strip("add").info.doc == "Takes one operator away." and Strip("x").instance.name == "x"


def test_a_class_of_passes_is_a_class(mod):
    @transform.function_pass(opt_level=1)
    class Keep:
        """Leaves everything."""

        kept = "all"

        def __init__(self, name, times=1):
            super().__init__()
            self.name = name
            self.times = times

        def transform_function(self, func, mod, ctx):
            return func

        def twice(self):
            return 2 * self.times

    one = Keep("a", times=4)
    assert one.name == "a" and one.twice() == 8 and one.kept == Keep.kept == "all"
    assert isinstance(one, Keep) and isinstance(one, transform.Pass) and isinstance(one, transform.FunctionPass)
    assert not isinstance(transform.FoldConstant(), Keep) and not isinstance(3, Keep)
    assert Keep.__name__ == "Keep" and Keep.__doc__ == "Leaves everything." and str(inspect.signature(Keep)) == "(name, times=1)"
    assert not hasattr(one, "nothing") and not hasattr(transform.FoldConstant(), "nothing")
    with pytest.raises(AttributeError, match="pass Keep of class Keep has no attribute 'nothing'"):
        one.nothing
    with pytest.raises(AttributeError, match="'Pass' object has no attribute 'nothing'"):
        transform.FoldConstant().nothing

    class Strip(Keep):
        """Takes relu away."""

        def __init__(self):
            super().__init__("strip")

        def transform_function(self, func, mod, ctx):
            return without_relu(super().transform_function(func, mod, ctx), mod, ctx)

    strip = Strip()
    assert calls(strip(mod)) == ["add", "add"] and strip.info.name == "Strip" and strip.info.doc == "Takes relu away."
    assert isinstance(strip, Strip) and isinstance(strip, Keep) and not isinstance(one, Strip) and issubclass(Strip, Keep)
    assert strip.name == "strip" and str(inspect.signature(Strip)) == "()" and strip.info.opt_level == 1
    with transform.PassContext(disabled_pass=["Strip"]):
        assert transform.Sequential([strip])(mod) is mod

    @transform.module_pass(opt_level=2, name="Other")
    class Other(Keep):
        def transform_module(self, mod, ctx):
            return mod

    other = Other("b")
    assert other.info.name == "Other" and other.info.opt_level == 2 and other(mod) is mod and isinstance(other, transform.ModulePass)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        Keep()


def test_module_pass(mod):
    @transform.module_pass(opt_level=1, name="Rename")
    def rename(mod, ctx):
        result = mod.copy()
        result["more"] = mod["other"]
        return result

    assert "more" in rename(mod) and "more" not in mod
    assert rename.info.name == "Rename"


def test_a_pass_that_changed_nothing_gives_the_same_module(mod):
    assert transform.module_pass(lambda mod, ctx: mod, opt_level=0, name="same")(mod) is mod
    typed = transform.InferType()(mod)
    assert transform.DeadCodeElimination()(typed) is typed


@pytest.mark.parametrize("result", [None, 3, "text"])
def test_what_a_pass_gives_is_checked(mod, result):
    with pytest.raises(TypeError, match="module pass wrong gave .*, not an IRModule"):
        transform.module_pass(lambda mod, ctx: result, opt_level=0, name="wrong")(mod)
    with pytest.raises(TypeError, match="function pass wrong gave .*, not a Function"):
        transform.function_pass(lambda func, mod, ctx: result, opt_level=0, name="wrong")(mod)


def test_ill_typed_results_are_found(mod):
    def wrong(func, mod, ctx):
        return core.Function(func.params, core.call_op("nn.relu", (func.params[0], func.params[0])))

    broken = transform.function_pass(wrong, opt_level=0)
    with pytest.raises(core.InternalError, match="pass wrong made an ill-typed module"):
        with transform.PassContext(config={"relay.verify_types": True}):
            broken(mod)
    with pytest.raises(core.InternalError, match="pass wrong made an ill-typed module"):
        with transform.PassContext(instruments=[instrument.VerifyInstrument()]):
            broken(mod)


def test_a_wrong_result_is_an_error_of_the_pass(mod):
    def ill_typed(func, mod, ctx):
        return core.Function(func.params, relay.nn.dense(func.params[0], relay.const(1.0)))

    def open_variable(func, mod, ctx):
        return core.Function(func.params, relay.add(func.params[0], relay.var("stray", shape=(3, 4))))

    def bound_twice(func, mod, ctx):
        inner = core.Let(func.params[0], func.params[0], func.params[0])
        return core.Function(func.params, inner)

    for wrong, problem in ((ill_typed, "nn.dense"), (open_variable, "%stray"), (bound_twice, "is bound in two places")):
        for passes in ([], [transform.FoldConstant()]):
            with pytest.raises(core.RelayError, match=f"(?s){problem}.*in pass {wrong.__name__}, in its result"):
                transform.Sequential([transform.function_pass(wrong, opt_level=0), *passes])(mod)

    # A module that is ill-typed may stay so until a later pass wants types.
    def later(whole, ctx):
        made = whole.copy()
        made["main"] = ill_typed(whole["main"], whole, ctx)
        return made

    whole = transform.module_pass(later, opt_level=0)
    assert whole(mod) is not mod
    with pytest.raises(core.RelayError, match="in the input of pass FoldConstant, which pass later was the last to change"):
        transform.Sequential([whole, transform.FoldConstant()])(mod)


def test_exceptions_come_out_whole(mod):
    class Mine(Exception):
        pass

    def raising(mod, ctx):
        raise Mine("here")

    with pytest.raises(Mine, match="here") as caught:
        transform.Sequential([transform.module_pass(raising, opt_level=0)])(mod)
    assert any(entry.name == "raising" for entry in caught.traceback)


def test_errors_of_all_functions_are_collected(mod):
    def complain(func, mod, ctx):
        core.parse_expr("nn.nothing(1)")

    with pytest.raises(core.RelayError) as caught:
        transform.function_pass(complain, opt_level=0)(mod)
    assert len(caught.value.diagnostics) == 2
    assert "pass complain failed on @main" in str(caught.value) and "pass complain failed on @other" in str(caught.value)


def test_errors_of_all_passes_are_collected_on_request(mod):
    def complain(func, mod, ctx):
        core.parse_expr("nn.nothing(1)")

    both = transform.Sequential([transform.function_pass(complain, opt_level=0, name=name) for name in ("One", "Two")])
    with transform.PassContext(collect_errors=True), pytest.raises(core.RelayError) as caught:
        both(mod)
    assert len(caught.value.diagnostics) == 4


def test_exceptions_say_pass_and_function(mod):
    @transform.function_pass(opt_level=0)
    def Fails(func, mod, ctx):
        raise ValueError("boom")

    @transform.module_pass(opt_level=0)
    def FailsToo(mod, ctx):
        raise KeyError("bang")

    with pytest.raises(ValueError, match="^boom") as caught:
        transform.Sequential([Fails])(mod)
    if hasattr(caught.value, "__notes__"):
        assert caught.value.__notes__[0].startswith("pass Fails failed on @main\nhelp: ")
    with pytest.raises(KeyError) as caught:
        FailsToo(mod)
    if hasattr(caught.value, "__notes__"):
        assert caught.value.__notes__[0].startswith("in pass FailsToo\nhelp: ")


def test_an_exception_that_has_notes_already_arrives_as_it_is(mod):
    @transform.module_pass(opt_level=0, name="Fails")
    def fails(module, context):
        error = KeyError("boom")
        if hasattr(error, "add_note"):
            error.add_note("help: of the script")
        raise error

    with pytest.raises(KeyError, match="boom") as caught:
        fails(mod)
    if hasattr(caught.value, "__notes__"):
        assert caught.value.__notes__ == ["help: of the script", "in pass Fails"]


def test_exceptions_are_collected_on_request(mod):
    class Own(Exception):
        pass

    @transform.function_pass(opt_level=0)
    def First(func, mod, ctx):
        raise Own("boom")

    @transform.function_pass(opt_level=0)
    def Second(func, mod, ctx):
        core.parse_expr("nn.nothing(1)")

    @transform.module_pass(opt_level=0)
    def Last(mod, ctx):
        raise KeyError("bang")

    with transform.PassContext(collect_errors=True), pytest.raises(core.RelayError) as caught:
        transform.Sequential([First, Second, Last])(mod)
    messages = [diagnostic.message for diagnostic in caught.value.diagnostics]
    assert messages[:2] == ["Own: boom"] * 2 and len(messages) == 5 and messages[4] == "KeyError: 'bang'"
    assert isinstance(caught.value.__cause__, Own) and caught.value.__cause__.__traceback__ is not None
    text = str(caught.value)
    for note in ("pass First failed on @main", "pass First failed on @other", "pass Second failed on @other", "in pass Last", "transform_test.py:"):
        assert note in text
    with transform.PassContext(collect_errors=True), pytest.raises(KeyboardInterrupt):
        transform.module_pass(lambda mod, ctx: (_ for _ in ()).throw(KeyboardInterrupt), opt_level=0)(mod)


def test_a_pass_may_run_passes_and_outlive_its_maker(mod):
    def make():
        inner = transform.FoldConstant()
        return transform.module_pass(lambda mod, ctx: inner(mod), opt_level=0, name="outer")

    assert calls(make()(transform.InferType()(mod))) == ["add", "nn.relu"]


def test_passes_run_in_two_threads(mod):
    strip = transform.function_pass(without_relu, opt_level=1)
    results = []
    threads = [threading.Thread(target=lambda: results.append(calls(strip(mod)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [["add", "add"]] * 8


@pytest.mark.parametrize("decorator", [transform.module_pass, transform.function_pass])
def test_decorators_refuse_what_is_no_pass(decorator):
    with pytest.raises(ValueError, match="opt_level"):
        decorator(lambda *args: None)
    with pytest.raises(TypeError, match="not of int"):
        decorator(3, opt_level=0)
    with pytest.raises(TypeError, match="has no method transform_"):
        decorator(type("Empty", (), {}), opt_level=0)


# ---- Sequential: order, PassEnabled, what is required


def test_sequential_runs_what_is_enabled(mod):
    names = []

    def recorder(name, level, required=()):
        return transform.module_pass(lambda mod, ctx: names.append(name) or mod, opt_level=level, name=name, required=required)

    passes = transform.Sequential([recorder("a", 0), recorder("b", 3), recorder("c", 2)])
    passes(mod)
    with transform.PassContext(opt_level=0, required_pass=["c"], disabled_pass=["a"]):
        passes(mod)
    assert names == ["a", "c", "c"]


def test_sequential_runs_what_a_pass_requires(mod):
    mine = transform.module_pass(lambda mod, ctx: mod, opt_level=0, name="mine", required=["InferType", "FoldConstant"])
    with transform.PassContext(trace=True) as context:
        transform.Sequential([mine])(mod)
    assert [entry.name for entry in context.trace] == ["InferType", "FoldConstant", "mine"]
    assert [entry.changed for entry in context.trace] == [False, True, False]


def test_sequences_mix_both_languages_and_nest(mod):
    strip = transform.function_pass(without_relu, opt_level=1)
    inner = transform.Sequential([transform.FoldConstant(), strip], name="inner")
    assert calls(transform.Sequential([transform.InferType(), inner, transform.DeadCodeElimination()])(mod)) == ["add"]


# ---- Instruments


def test_instrument_methods_in_order(mod):
    log = []

    @instrument.pass_instrument
    class Log:
        def enter_pass_ctx(self):
            log.append("enter")

        def exit_pass_ctx(self):
            log.append("exit")

        def should_run(self, mod, info):
            return info.name != "DeadCodeElimination"

        def run_before_pass(self, mod, info):
            log.append("+" + info.name)

        def run_after_pass(self, mod, info):
            assert isinstance(mod, core.IRModule)
            log.append("-" + info.name)

    passes = transform.Sequential([transform.InferType(), transform.DeadCodeElimination()])
    with transform.PassContext(instruments=[Log()]):
        passes(mod)
    assert log == ["enter", "+InferType", "-InferType", "exit"]


def test_an_instrument_that_fails(mod):
    class Failing(instrument.PassInstrument):
        def run_before_pass(self, mod, info):
            raise ValueError("not now")

    with transform.PassContext(instruments=[Failing()]), pytest.raises(ValueError, match="not now"):
        transform.InferType()(mod)

    class NeverBegins(instrument.PassInstrument):
        def enter_pass_ctx(self):
            raise ValueError("no beginning")

    with pytest.raises(ValueError, match="no beginning"), transform.PassContext(opt_level=4, instruments=[NeverBegins()]):
        pass
    assert transform.PassContext.current().opt_level == 2
    with pytest.raises(TypeError, match="none of the methods"):
        instrument.pass_instrument(type("Empty", (), {}))


def test_instruments_of_the_library(mod, tmp_path):
    timing, counts, memory = instrument.PassTimingInstrument(), instrument.OpCountInstrument(), instrument.MemoryInstrument()
    printed = []
    watching = [timing, counts, memory, instrument.DumpIR(tmp_path / "dump"), instrument.PrintDifference(printed.append),
                instrument.PrintBeforeAll(printed.append, passes=["FoldConstant"]), instrument.PrintAfterAll(printed.append, ["InferType"]),
                instrument.ProgressInstrument(printed.append, threshold=0)]
    with transform.PassContext(instruments=watching):
        transform.Sequential([transform.InferType(), transform.FoldConstant()])(mod)
    assert "FoldConstant" in timing.render() and "traceEvents" in timing.chrome_trace()
    assert "add -1" in counts.render() and "FoldConstant" in memory.render()
    assert sorted(path.name for path in (tmp_path / "dump").iterdir()) == ["000-input.rly", "002-FoldConstant.rly"]
    text = "".join(printed)
    for part in ("// before FoldConstant", "// after InferType", "// FoldConstant: changed", "+  %0 = add(%x, 3f)", "passes done"):
        assert part in text


def test_printing_follows_standard_output(mod, capsys):
    with transform.PassContext(instruments=[instrument.PrintChanged()]):
        transform.InferType()(mod)
    assert "// InferType: unchanged" in capsys.readouterr().out


def test_names_of_passes_may_be_any_collection_of_texts(mod):
    context = transform.PassContext(disabled_pass={"FoldConstant"}, required_pass=("Inline",), config={"relay.FuseOps.max_depth": 2})
    assert context.disabled_pass == ["FoldConstant"] and context.instruments == []
    assert repr(context) == (
        "PassContext(opt_level=2, required_pass=['Inline'], disabled_pass=['FoldConstant'], config={'relay.FuseOps.max_depth': 2})"
    )
    for wrong, text in [([3], "disabled_pass is a list of names of passes; one is 3"), ("FuseOps", "disabled_pass is a list of names of passes, not 'FuseOps'")]:
        with pytest.raises(TypeError, match=text):
            transform.PassContext(disabled_pass=wrong)
    with pytest.raises(TypeError, match="passes is a list, not 'FoldConstant'"):
        instrument.PrintAfterAll(passes="FoldConstant")
