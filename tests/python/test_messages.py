"""The messages that users read when something is wrong."""

import copy
import pickle

import numpy as np
import pytest
import relay
from relay import instrument, transform

X = relay.var("x", shape=(2, 2))


def main() -> relay.IRModule:
    return relay.IRModule.from_expr(relay.Function([X], relay.nn.relu(X)))


def test_attributes_of_a_call_as_a_dictionary():
    call = relay.Call(relay.op.get("nn.dense"), [X, X], {"units": 2})
    assert call.attrs.units == 2 and call.attrs.type_key == relay.nn.dense(X, X).attrs.type_key
    assert relay.structural_equal(relay.Call(relay.op.get("nn.relu"), [X], {}), relay.nn.relu(X))
    for op, attrs, error, text in [
        ("nn.dense", {"unit": 2}, relay.RelayError, "unknown attribute unit(.|\n)*did you mean units"),
        ("nn.dense", {"units": object()}, TypeError, "attribute units of nn.dense cannot be <object"),
        ("nn.dense", {3: 4}, TypeError, "the name of an attribute is a text, not 3"),
        ("nn.relu", {"a": 1}, TypeError, "nn.relu has no attributes"),
        ("nn.dense", relay.nn.conv2d(X, X).attrs, TypeError, "nn.dense takes .*DenseAttrs, not .*Conv2DAttrs"),
        ("nn.relu", relay.nn.conv2d(X, X).attrs, TypeError, "nn.relu takes no attributes, not"),
        ("nn.relu", 3, TypeError, "attrs is a dictionary, Attrs or None, not 3"),
    ]:
        with pytest.raises(error, match=text):
            relay.Call(relay.op.get(op), [X], attrs)


@pytest.mark.parametrize(
    "params, text",
    [
        ({3: np.ones(2)}, "the names of params are texts, not 3"),
        ({"x": "abc"}, r"params\[x\]: a tensor cannot be made of this str"),
        ([1, 2], r"params is a dictionary of arrays by names of parameters, not \[1, 2\]"),
        (3, "params is a dictionary"),
    ],
)
def test_params_of_compile(params, text):
    with pytest.raises(TypeError, match=text):
        relay.compile(main(), params=params)


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"opt_level": -1}, ValueError, "opt_level is an integer from 0 to 4, not -1"),
        ({"opt_level": 2**70}, ValueError, "opt_level is an integer from 0 to 4"),
        ({"opt_level": True}, TypeError, "opt_level is an integer, not True"),
        ({"opt_level": "3"}, TypeError, "opt_level is an integer, not '3'"),
        ({"threads": -1}, ValueError, "threads is an integer from 0 to 1024"),
        ({"threads": 10**6}, ValueError, "threads is an integer from 0 to 1024"),
        ({"threads": 1.5}, TypeError, "threads is an integer, not 1.5"),
        ({"target": None}, TypeError, "target is a str, not None"),
        ({"target": "cuda"}, relay.RelayError, "cuda"),
        ({"entry": 3}, TypeError, "entry is a str or GlobalVar, not 3"),
        ({"entry": "mai"}, relay.RelayError, "there is no function @mai(.|\n)*did you mean @main?"),
    ],
)
def test_options_of_compile(options, error, text):
    with pytest.raises(error, match=text):
        relay.compile(main(), **options)


def test_no_entry():
    mod = relay.parse("def @f() { 1 } def @g() { 2 }")
    for use in (relay.compile, relay.evaluate):
        with pytest.raises(relay.RelayError, match="the program has no @main; choose its entry, of @f, @g"):
            use(mod)
        with pytest.raises(TypeError, match="mod is an IRModule or an expression, not None"):
            use(None)
    assert relay.evaluate(mod, entry="g") == 2 and relay.compile(mod, entry=mod.get_global_var("f"))() == 1


def test_passes_of_what_is_no_module():
    for wrong, text in [(X, "a pass takes an IRModule, not Var: IRModule.from_expr makes one"), (None, "not NoneType"), (3, "not int")]:
        with pytest.raises(TypeError, match=text):
            transform.FoldConstant()(wrong)


@pytest.mark.parametrize(
    "passes, text",
    [
        ([None], r"passes\[0\] of a Sequential is None, not a pass"),
        ([transform.FoldConstant(), transform.FoldConstant], r"passes\[1\] of a Sequential is <function .*: call it to make one"),
        ("FoldConstant", "passes is a list, not 'FoldConstant'"),
        (3, "passes is a list, not 3"),
    ],
)
def test_sequences_of_what_is_no_pass(passes, text):
    with pytest.raises(TypeError, match=text):
        transform.Sequential(passes)


def test_levels_of_passes():
    for make in (
        lambda level: transform.Sequential([], opt_level=level),
        lambda level: transform.function_pass(lambda f, m, c: f, opt_level=level),
        lambda level: transform.module_pass(lambda m, c: m, opt_level=level),
        lambda level: transform.standard_pipeline(level),
    ):
        with pytest.raises(ValueError, match="level is an integer from 0 to"):
            make(-1)
        with pytest.raises(TypeError, match="level is an integer, not True"):
            make(True)


def test_contexts_know_passes():
    for key in ("required_pass", "disabled_pass"):
        with pytest.raises(relay.RelayError, match=f"unknown pass FoldConstan in {key}(.|\n)*did you mean FoldConstant"):
            transform.PassContext(**{key: ["FoldConstan"]})

    @transform.function_pass(opt_level=1)
    class Own:
        def transform_function(self, func, mod, ctx):
            raise AssertionError("disabled")

    with transform.PassContext(disabled_pass=["Own"]):  # before one is made
        transform.Sequential([Own()])(main())
    with pytest.raises(relay.RelayError, match="unknown pass InferTyp in what mine requires"):
        transform.function_pass(lambda f, m, c: f, opt_level=1, name="mine", required=["InferTyp"])


@pytest.mark.parametrize(
    "instruments, text",
    [
        ([3], r"instruments\[0\] is 3, no instrument: it has none of the methods"),
        ([instrument.PassTimingInstrument], r"instruments\[0\] is the class PassTimingInstrument: give an instance"),
        ([instrument.PassTimingInstrument(), "x"], r"instruments\[1\] is 'x', no instrument"),
        ([type("T", (), {"run_before_pass": 3})()], r"instruments\[0\] has a run_before_pass that cannot be called"),
    ],
)
def test_contexts_know_instruments(instruments, text):
    with pytest.raises(TypeError, match=text):
        transform.PassContext(instruments=instruments)


def test_writers_are_functions():
    with pytest.raises(TypeError, match="write is a function of a text, not 3"):
        instrument.PrintAfterAll(3)
    with pytest.raises(relay.RelayError, match="unknown pass Nothing in the passes to print"):
        instrument.PrintAfterAll(passes=["Nothing"])


def test_verification_blames_the_pass_alone():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(3,))
    ill = relay.IRModule.from_expr(relay.Function([x, y], x + y))

    @transform.module_pass(opt_level=0)
    def nothing(mod, ctx):
        return mod

    with transform.PassContext(instruments=[instrument.VerifyInstrument()]):
        with pytest.raises(relay.RelayError, match="add"):
            nothing(ill)

    @transform.module_pass(opt_level=0)
    def breaks(mod, ctx):
        return ill

    with transform.PassContext(instruments=[instrument.VerifyInstrument()]):
        with pytest.raises(relay.InternalError, match="pass breaks made an ill-typed module"):
            breaks(main())


def test_everything_from_transform():
    names: dict = {}
    exec("from relay.transform import *", names)
    assert {"FoldConstant", "Sequential", "InferType"} <= set(names)


def test_arguments_that_fit_no_function():
    for use, text in [
        (lambda: relay.TupleGetItem(None, 0), r"the constructor takes \(tuple_value: Expr, index: int, span: Span.*\), not \(None, int\)"),
        (lambda: relay.If(X, None, X), r"the constructor takes \(cond: Expr, .*not \(Var, None, Var\)"),
        (lambda: relay.analysis.free_vars(None), "an expression, number or array is needed, not None"),
        (lambda: relay.Let(var=3), "not"),
        (lambda: relay._core.count_nodes(None), r"count_nodes\(\) takes \(expr: Expr\), not \(None\)"),
    ]:
        with pytest.raises(TypeError, match=text) as caught:
            use()
        assert "\n" not in str(caught.value) and "nanobind" not in str(caught.value)


def test_large_integers():
    for use in (lambda: X + 2**70, lambda: relay.add(X, 2**70), lambda: relay.Literal(2**70)):
        with pytest.raises(OverflowError, match="no dtype has the integer 1180591620717411303424"):
            use()
    with pytest.raises(TypeError, match="a shape consists of 64-bit integers and dimensions, not 1180591620717411303424"):
        relay.TensorType((2**70,), "float32")
    with pytest.raises((ValueError, relay.RelayError), match="64 bits"):
        relay.nn.softmax(X, axis=2**70)


def diagnostics():
    with pytest.raises(relay.RelayError) as caught:
        relay.parse("def @main(%x: float32) {\n  %x + %y\n}", "mine.rly")
    return caught.value


def test_errors_pickle_and_copy():
    error = diagnostics()
    text = str(error.diagnostics[0])
    assert "mine.rly:2:8" in text and "%x + %y" in text
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is relay.RelayError and str(again) == str(error)
    assert [str(one) for one in again.diagnostics] == [str(one) for one in error.diagnostics]
    assert str(copy.deepcopy(error.diagnostics[0])) == text
    span = error.diagnostics[0].span
    other = pickle.loads(pickle.dumps(span))
    assert (other.source_name, other.line, other.column, other.length) == (span.source_name, span.line, span.column, span.length)
    assert pickle.loads(pickle.dumps(relay.Span())) == relay.Span() and copy.copy(span) == span


def test_errors_go_through_processes(python):
    out = python(
        """
import multiprocessing, relay
def work(text): return relay.parse(text, "there.rly")
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(1) as pool:
        try: pool.apply(work, ("def @main() { %nothing }",))
        except relay.RelayError as error: print(error.diagnostics[0])
"""
    )
    assert "there.rly:1:15" in out and "%nothing" in out


def test_an_error_raised_in_python_has_diagnostics():
    assert list(relay.RelayError("mine").diagnostics) == []

    @transform.function_pass(opt_level=0)
    def fails(func, mod, ctx):
        raise relay.RelayError("mine alone")

    with pytest.raises(relay.RelayError, match="mine alone"):
        fails(main())


def test_operands_that_are_none():
    pair = relay.Tuple([X, X])
    for make, error, text in [
        (lambda: relay.TupleGetItem(pair, -1), ValueError, "the index of a TupleGetItem is -1; fields are counted from 0"),
        (lambda: relay.TupleGetItem(pair, 2**32), ValueError, "the index of a TupleGetItem is 4294967296"),
        (lambda: relay.Call(X, [X, 1]), TypeError, r"args\[1\] of a Call is 1, which is not an expression; relay.const makes one of it"),
        (lambda: relay.Call(X, "x"), TypeError, r"args\[0\] of a Call is 'x', which is not an expression"),
        (lambda: relay.Tuple([object()]), TypeError, r"fields\[0\] of a Tuple is <object object at .*>, which is not an expression"),
    ]:
        with pytest.raises(error, match=text):
            make()


def test_attributes_name_their_operator():
    with pytest.raises(relay.RelayError, match='nn.softmax: attribute axis takes int, not "a"'):
        relay.nn.softmax(X, axis="a")
    with pytest.raises(relay.RelayError, match="nn.dense: unknown attribute unit(.|\n)*did you mean units"):
        relay.Call(relay.op.get("nn.dense"), [X, X], {"unit": 2})


@pytest.mark.parametrize("module, name, near", [(relay, "ad", "add"), (relay.nn, "convv2d", "conv2d"), (relay.op, "tanhh", "tanh")])
def test_names_that_are_not_there(module, name, near):
    with pytest.raises(AttributeError) as raised:
        getattr(module, name)
    # The attributes that the interpreter's "Did you mean" is made of.
    assert raised.value.name == name and raised.value.obj is module and hasattr(module, near)


def test_extents_stay_integers():
    for maker in (relay.const, str, lambda n: n + 1):
        with pytest.raises(TypeError, match="what makes extents of integers must make integers of them"):
            relay._core.set_integer_dims(maker)
    assert list(X.type_annotation.shape) == [2, 2]


def test_what_is_no_value_is_told_as_what_is_wanted() -> None:
    mod = relay.parse('import "prelude"\ndef @main(%f: fn (int32) -> int32, %xs: List[int32], %r: ref(int32)) { (%f(1), %xs, ref_read(%r)) }')
    run = relay.compile(mod)
    nil = relay.Value(mod.constructor("Nil"))
    cell = relay.Value.reference(np.int32(1))
    with pytest.raises(TypeError, match=r"%f: expected fn \(int32\) -> int32, found <function .*: functions come from programs"):
        run(lambda x: x, nil, cell)
    call = relay.Call(mod.constructor("Nil"), [])
    add = relay.compile(relay.parse("def @main() { fn(%x: int32) { %x } }"))()
    with pytest.raises(TypeError, match=r"%xs: expected List\[int32\], found .*: relay.Value\(constructor, fields\) makes a value of a data type"):
        run(add, call, cell)
    with pytest.raises(TypeError, match=r"%r: expected ref\(int32\), found .*: relay.Value.reference\(value\) makes a reference"):
        run(add, nil, object())


def test_arguments_of_other_functions_are_named() -> None:
    class Odd:
        def __dlpack_device__(self):
            return "x"

        def __dlpack__(self, **kwargs):
            raise RuntimeError

    run = relay.compile(relay.parse("def @main(%x: Tensor[(2), float32]) { %x }"))
    with pytest.raises(TypeError, match="%x: .*its __dlpack_device__ gives no pair of integers"):
        run(Odd())
    with pytest.raises(ValueError, match="embedded null byte"):
        run.save("a\0b")
    with pytest.raises(TypeError, match="expected str, bytes or os.PathLike object, not int"):
        run.save(3)
    x = relay.var("x")
    with pytest.raises(TypeError, match="fn is a function of an expression, not None"):
        relay.rewrite(x, None)
    with pytest.raises(TypeError, match="attribute d cannot be {1: 'a'}: an attribute is None, a bool, a number, a text, a dtype, an expression, a list of such, or a dictionary"):
        relay.Function([x], x).with_attr("d", {1: "a"})
