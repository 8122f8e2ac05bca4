"""Operators that scripts register in TVM's way."""

import numpy as np
import pytest

import tvm
from tvm import relay


@pytest.fixture
def custom():
    name = "custom.add"
    relay.op.op.register(name, "Adds.")
    relay.op.get(name).set_num_inputs(2)
    relay.op.get(name).add_argument("data_0", "Tensor", "The first.")
    relay.op.get(name).add_argument("data_1", "Tensor", "The second.")
    relay.op.get(name).add_type_rel("Broadcast")
    relay.op.get(name).set_support_level(1)
    yield name
    import relay as own

    own.op.unregister(name)
    from tvm.relay.op.staged import STAGED

    STAGED.pop(name, None)


def test_register(custom):
    relay.op.op.register_pattern(custom, relay.op.OpPattern.BROADCAST)
    relay.op.op.register_stateful(custom, False)
    op = relay.op.get(custom)
    assert op.name == custom and op.num_inputs == 2 and op.support_level == 1
    assert op.get_attr("TOpPattern") == relay.op.OpPattern.BROADCAST and op.get_attr("TOpIsStateful") is False
    assert [name for name, _ in op.arguments] == ["data_0", "data_1"]
    x, y = relay.var("x", shape=(3, 1)), relay.var("y", shape=(4,))
    mod = tvm.IRModule.from_expr(relay.Call(op, [x, y]))
    mod = relay.transform.InferType()(mod)
    assert mod["main"].body.checked_type == relay.TensorType((3, 4))


def test_type_relation_in_python(custom):
    def rel(arg_types, attrs):
        assert attrs is None
        return relay.TensorType(arg_types[1].shape, "int32")

    relay.op.get(custom).add_type_rel("CustomRel", rel)
    x, y = relay.var("x", shape=(3, 1)), relay.var("y", shape=(4,))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Call(relay.op.get(custom), [x, y])))
    assert mod["main"].body.checked_type == relay.TensorType((4,), "int32")
    with pytest.raises(NotImplementedError, match="custom.add has no definition"):
        relay.create_executor("debug", mod=mod).evaluate()(np.ones((3, 1), "float32"), np.ones(4, "float32"))


def test_gradient(custom):
    import relay as own

    seen = []

    @relay.op.register_gradient(custom)
    def gradient(orig, grad):
        seen.append(orig)
        return [grad, relay.negative(grad)]

    x = relay.var("x", shape=(4,))
    call = relay.Call(relay.op.get(custom), [x, x])
    own.check(relay.Function([x], call))
    first, second = own.op.gradients(call, x)
    assert first is x and second.op.name == "negative" and seen[0].args[0] is x
    assert relay.op.get(custom).get_attr("FPrimalGradient") is gradient


def test_wrong_uses(custom):
    with pytest.raises(tvm.TVMError, match="operator custom.add is registered already"):
        relay.op.op.register(custom)
    with pytest.raises(TypeError, match="operator add is declared already"):
        relay.op.get("add").set_num_inputs(3)
    with pytest.raises(ValueError, match="there is no relation Nothing"):
        relay.op.get(custom).add_type_rel("Nothing")
    assert relay.op.get(custom).num_inputs == 2
    relay.op.op.register("custom.bare")
    try:
        with pytest.raises(tvm.TVMError, match="custom.bare has no type relation"):
            relay.transform.InferType()(tvm.IRModule.from_expr(relay.Call(relay.op.get("custom.bare"), [])))
    finally:
        import relay as own

        own.op.unregister("custom.bare")
        from tvm.relay.op.staged import STAGED

        STAGED.pop("custom.bare", None)


@pytest.fixture
def fresh():
    """Registers an operator of one input under a name of its own."""
    import relay as own

    names = []

    def make(name, **facts):
        relay.op.op.register(name)
        names.append(name)
        op = relay.op.get(name)
        op.set_num_inputs(1)
        op.add_type_rel("Identity")
        return op

    yield make
    for name in names:
        own.op.unregister(name)


def test_an_operator_that_is_held_takes_all_that_is_said(fresh):
    relay.op.op.register("custom.held", "Holds.")
    try:
        held = relay.op.get("custom.held")
        x = relay.var("x", shape=(3,))
        early = relay.Call(held, [x])
        held.set_num_inputs(1)
        held.add_argument("data", "Tensor", "The data.")
        held.set_support_level(3)
        with pytest.raises(tvm.TVMError, match="custom.held has no type relation"):
            relay.testing.run_infer_type(early)
        held.add_type_rel("Identity")
        assert relay.op.get("custom.held") is held and held.num_inputs == 1 and held.support_level == 3
        assert relay.testing.run_infer_type(early).checked_type == relay.TensorType((3,))
        held.add_type_rel("Other", lambda types, attrs: relay.TensorType((7,), "int8"))
        assert relay.testing.run_infer_type(relay.Call(held, [x])).checked_type == relay.TensorType((7,), "int8")
        with pytest.raises(tvm.TVMError, match="custom.held takes 1 argument, found 2"):
            relay.testing.run_infer_type(relay.Call(held, [x, x]))
        assert relay.fromtext(tvm.IRModule.from_expr(early).astext())["main"].body.op is held
    finally:
        import relay as own

        own.op.unregister("custom.held")
    with pytest.raises(TypeError, match="custom.held is declared already"):
        held.set_num_inputs(2)
    relay.op.op.register("custom.held")  # a new one, of which nothing was said
    try:
        assert relay.op.get("custom.held") is not held and relay.op.get("custom.held").num_inputs == 0
    finally:
        own.op.unregister("custom.held")


def test_calls_with_effects_are_neither_merged_nor_dropped(fresh):
    op = fresh("custom.rand")
    x = relay.var("x", shape=(2,))

    def merged():
        mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([relay.Call(op, [x]), relay.Call(op, [x])]))))
        first, second = relay.transform.EliminateCommonSubexpr()(mod)["main"].body.fields
        return first is second

    def dropped():
        unused = relay.var("unused")
        mod = tvm.IRModule.from_expr(relay.Function([x], relay.Let(unused, relay.Call(op, [x]), x)))
        return not isinstance(relay.transform.DeadCodeElimination()(relay.transform.InferType()(mod))["main"].body, relay.Let)

    assert merged() and dropped() and op.get_attr("TOpIsStateful") is False
    relay.op.op.register_stateful("custom.rand", True)
    assert not merged() and not dropped() and op.get_attr("TOpIsStateful") is True
    op.set_support_level(4)  # what is said later leaves it so
    assert not merged() and not dropped()
    op.reset_attr("TOpIsStateful")
    assert merged() and dropped()
    tvm.ir.register_op_attr("custom.rand", "TOpIsStateful", True)
    assert not merged() and not dropped()


def test_the_librarys_operators_are_not_declared_anew():
    import relay as own

    with pytest.raises(ValueError, match="add was not declared by Python"):
        own._core.amend_op(own.op.get("add"), "", [], None, "Identity", 10, True, None)


def test_effects_of_operators_that_are_declared_otherwise():
    relay.op.op.register_stateful("add", False)
    assert relay.op.get("add").get_attr("TOpIsStateful") is False
    with pytest.raises(tvm.TVMError, match="operator add is declared without effects and cannot become one with"):
        relay.op.op.register_stateful("add", True, 11)
    import relay as own

    with own.op.registered("custom.own", inputs=["x"], relation="Identity", kernel=lambda x: x, pure=False):
        assert relay.op.get("custom.own").get_attr("TOpIsStateful") is True
        with pytest.raises(tvm.TVMError, match="custom.own is declared with effects and cannot become one without.*pure=True"):
            relay.op.op.register_stateful("custom.own", False)
    with pytest.raises(TypeError, match="TOpIsStateful of add is a bool, not str"):
        relay.op.op.register_stateful("add", "yes", 11)


def groups(expr):
    mod = relay.transform.FuseOps()(relay.transform.InferType()(tvm.IRModule.from_expr(expr)))
    return mod.astext().count("Primitive=1")


def test_patterns_decide_what_fuses(fresh):
    op, x = fresh("custom.pointwise"), relay.var("x", shape=(2, 3))
    pattern = relay.op.OpPattern

    def around():
        return groups(relay.nn.relu(relay.Call(op, [relay.exp(x)])))

    assert op.get_attr("TOpPattern") is None and around() == 3
    relay.op.op.register_pattern("custom.pointwise", pattern.ELEMWISE)
    assert op.get_attr("TOpPattern") == pattern.ELEMWISE and around() == 1
    relay.op.op.register_pattern("custom.pointwise", pattern.OPAQUE, level=11)
    assert around() == 3
    relay.op.op.register_pattern("custom.pointwise", pattern.ELEMWISE)  # of a lower level: not taken
    assert op.get_attr("TOpPattern") == pattern.OPAQUE and around() == 3
    with relay.testing.temp_op_attr.TempOpAttr("custom.pointwise", "TOpPattern", pattern.OUT_ELEMWISE_FUSABLE):
        assert around() == 2
    assert op.get_attr("TOpPattern") == pattern.OPAQUE and around() == 3


def test_a_kernel_that_fuses_gives_the_same_numbers():
    import relay as own

    with own.op.registered("custom.twice", inputs=["x"], relation="Identity", kernel=lambda x: x * 2):
        x = relay.var("x", shape=(2, 3))
        func = relay.Function([x], relay.nn.relu(relay.Call(relay.op.get("custom.twice"), [relay.negative(x)])))
        data = np.array([[1, -2, 3], [-4, 5, -6]], "float32")
        for chosen in (None, relay.op.OpPattern.ELEMWISE, relay.op.OpPattern.OPAQUE):
            if chosen is not None:
                relay.op.op.register_pattern("custom.twice", chosen, 10 + chosen)
            got = relay.create_executor("vm", mod=tvm.IRModule.from_expr(func)).evaluate()(data)
            np.testing.assert_array_equal(got.numpy(), np.maximum(-2 * data, 0))


def test_patterns_of_the_librarys_operators():
    pattern = relay.op.OpPattern
    wanted = {"add": 1, "exp": 0, "tanh": 0, "reshape": 2, "sum": 3, "nn.conv2d": 4, "nn.softmax": 4, "topk": 8}
    assert {name: relay.op.get(name).get_attr("TOpPattern") for name in wanted} == wanted
    assert relay.op.get("add").has_attr("TOpPattern")
    with pytest.raises(tvm.TVMError, match="operator nn.softmax cannot have pattern 0.*its pattern is 4.*only a greater number"):
        relay.op.op.register_pattern("nn.softmax", pattern.ELEMWISE)
    with pytest.raises(ValueError, match="TOpPattern of tanh is a number of OpPattern .*, not 5"):
        relay.op.op.register_pattern("tanh", 5)
    x = relay.var("x", shape=(2, 3))
    chain = relay.nn.relu(relay.tanh(relay.exp(x)))
    assert groups(chain) == 1
    relay.op.op.register_pattern("tanh", pattern.OPAQUE)
    try:
        assert groups(chain) == 3 and relay.op.get("tanh").get_attr("TOpPattern") == pattern.OPAQUE
    finally:
        relay.op.get("tanh").reset_attr("TOpPattern")
    assert groups(chain) == 1 and relay.op.get("tanh").get_attr("TOpPattern") == pattern.ELEMWISE


def test_gradients_that_scripts_register_are_used(fresh):
    import relay as own

    with own.op.registered("custom.cube", inputs=["x"], relation="Identity", kernel=lambda x: x**3):
        relay.op.op.register_gradient("custom.cube", lambda orig, grad: [grad * orig.args[0]], 11)
        x = relay.var("x", shape=(2,))
        call = relay.Call(relay.op.get("custom.cube"), [x])
        own.check(relay.Function([x], call))
        (found,) = own.op.gradients(call, x)
        assert found.op.name == "multiply"
        relay.op.op.register_gradient("custom.cube", lambda orig, grad: [relay.negative(grad)], 12)
        assert own.op.gradients(call, x)[0].op.name == "negative"
        with pytest.raises(tvm.TVMError, match="the gradient of operator custom.cube can be replaced, not taken away"):
            relay.op.get("custom.cube").reset_attr("FPrimalGradient")
    with pytest.raises(tvm.TVMError, match="operator nn.softmax already has an entry of level 10"):
        relay.op.op.register_gradient("nn.softmax", lambda orig, grad: [grad])
    with pytest.raises(TypeError, match="the gradient of exp is a function, not int"):
        relay.op.op.register_gradient("exp", 3)
    with pytest.raises(ValueError, match="no operator has attributes of type CustomAttrs"):
        fresh("custom.attributes").set_attrs_type_key("CustomAttrs")


def test_a_key_of_attributes_that_is_refused_leaves_the_operator_as_it_was(fresh):
    op = fresh("custom.kept")
    for key in (3, "CustomAttrs"):
        with pytest.raises((TypeError, ValueError)):
            op.set_attrs_type_key(key)
        op.set_num_inputs(1)  # declares it anew


@pytest.mark.parametrize("key, given", [("DictAttrs", {"axis": [0, 1], "word": "sum"}), ("relay.attrs.SoftmaxAttrs", {"axis": 0})])
def test_attributes_of_an_operator_declared_bit_by_bit(fresh, key, given):
    name = "custom.typed_" + key.rpartition(".")[2]
    op = fresh(name)
    op.set_attrs_type_key(key)
    op.set_num_inputs(1)
    seen = []
    op.add_type_rel(name + "Rel", lambda types, attrs: seen.append({k: attrs[k] for k in given}) or types[0])
    x = relay.var("x", shape=(2, 3))
    func = relay.Function([x], relay.Call(op, [x], tvm.ir.make_node(key, **given)))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(func))
    assert mod["main"].body.checked_type == relay.TensorType((2, 3), "float32") and seen
    assert [int(n) for n in seen[0]["axis"]] == given["axis"] if key == "DictAttrs" else seen[0] == given
    assert tvm.ir.structural_equal(mod, tvm.relay.parse(mod.astext()))


@pytest.mark.parametrize("make, count", [
    (lambda x: relay.tanh(x), 1), (lambda x: relay.nn.dense(x, x), 2), (lambda x: relay.split(x, 2).astuple(), 1), (lambda x: relay.reshape_like(x, x), 2),
    (lambda x: relay.take(x, relay.const([1, 0]), axis=0), 2),
])  # fmt: skip
def test_the_librarys_gradients_can_be_asked_for(make, count):
    x = relay.var("x", shape=(2, 2), dtype="float64")
    rule = relay.op.get(make(x).op.name).get_attr("FPrimalGradient")
    function = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], make(x))))["main"]
    seed = relay.ones_like(function.body) if isinstance(function.body.checked_type, relay.TensorType) else relay.Tuple(
        [relay.ones(field.shape, field.dtype) for field in function.body.checked_type.fields])
    found = rule(function.body, seed)
    assert len(found) == count and callable(rule)
    total = [part for part, arg in zip(found, function.body.args) if arg.same_as(function.params[0])]
    summed = total[0] if len(total) == 1 else relay.add(*total)
    data = np.array([[0.5, -1], [2, 3]])
    by_rule = relay.create_executor("debug").evaluate(relay.Function(function.params, summed))(data).numpy()
    _, (wanted,) = relay.create_executor("debug").evaluate(relay.transform.gradient(function))(data)
    np.testing.assert_allclose(by_rule, wanted.numpy())
    assert relay.op.get("argmax").get_attr("FPrimalGradient") is None and not relay.op.get("argmax").has_attr("FPrimalGradient")


@pytest.mark.parametrize("make", [relay.exp, lambda x: x + relay.var("y", shape=(2,)), lambda x: relay.split(x, 2).astuple(), relay.sum])
def test_the_gradient_of_a_call_of_open_type(make):
    call = make(relay.var("x"))
    with pytest.raises(tvm.error.DiagnosticError, match=f"the gradient of {call.op.name} needs inputs of known rank and dtype"):
        relay.op.get(call.op.name).get_attr("FPrimalGradient")(call, relay.ones_like(call))
    with pytest.raises(TypeError, match="a gradient is that of a call, not of int"):
        relay.op.get("exp").get_attr("FPrimalGradient")(3, 4)
