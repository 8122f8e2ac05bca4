"""relay.Prelude, the standard library, data values and references as arguments and results."""

import numpy as np
import pytest

import tvm
import tvm.testing
from tvm import relay
from tvm.relay.backend.interpreter import ConstructorValue, RefValue
from tvm.relay.prelude import Prelude, StaticTensorArrayOps, TensorArrayOps
from tvm.relay.testing import count, make_nat_expr, make_nat_value
from tvm.runtime import container

executor_kind = tvm.testing.parameter("debug", "vm")


class Env:
    """A prelude with natural numbers, and what makes lists of it."""

    def __init__(self):
        self.p = Prelude()
        self.p.mod.import_from_std("nat.rly")
        self.list, self.cons, self.nil = self.p.mod.get_type("List")
        self.option, self.some, self.none = self.p.mod.get_type("Option")
        self.tree, self.rose = self.p.mod.get_type("Tree")

    def exprs(self, values):
        made = self.nil()
        for value in reversed(values):
            made = self.cons(relay.const(value), made)
        return made

    def value(self, values):
        made = ConstructorValue(self.nil.tag, [], self.nil)
        for value in reversed(values):
            made = ConstructorValue(self.cons.tag, [tvm.nd.array(np.int32(value)), made], self.cons)
        return made

    def run(self, expr, kind="debug"):
        return relay.create_executor(kind, mod=self.p.mod).evaluate(expr)


def ints(value):
    """The numbers in a list, tuples as tuples."""
    found = []
    while len(value.fields) > 0:
        head, value = value.fields
        found.append(tuple(int(v.numpy()) for v in head) if isinstance(head, container.ADT) else int(head.numpy()))
    return found


@pytest.fixture(scope="module")
def env():
    return Env()


def lam(body, *names):
    variables = [relay.Var(name) for name in names]
    return relay.Function(variables, body(*variables))


CASES = {
    "map": (lambda e: e.p.map(lam(lambda x: x + relay.const(1), "x"), e.exprs([1, 2])), [2, 3]),
    "filter": (lambda e: e.p.filter(lam(lambda x: relay.greater(x, relay.const(1)), "x"), e.exprs([1, 2, 3])), [2, 3]),
    "concat": (lambda e: e.p.concat(e.exprs([1]), e.exprs([2])), [1, 2]),
    "rev": (lambda e: e.p.rev(e.exprs([1, 2, 3])), [3, 2, 1]),
    "zip": (lambda e: e.p.zip(e.exprs([1, 2]), e.exprs([3, 4])), [(1, 3), (2, 4)]),
    "tl": (lambda e: e.p.tl(e.exprs([1, 2])), [2]),
    "update": (lambda e: e.p.update(e.exprs([1, 2]), relay.const(1), relay.const(9)), [1, 9]),
    "unfoldr": (lambda e: e.p.unfoldr(lam(lambda n: relay.If(relay.equal(n, relay.const(0)), e.none(), e.some(relay.Tuple([n - relay.const(1), n]))), "n"),
                                      relay.const(3)), [3, 2, 1]),
    "unfoldl": (lambda e: e.p.unfoldl(lam(lambda n: relay.If(relay.equal(n, relay.const(0)), e.none(), e.some(relay.Tuple([n - relay.const(1), n]))), "n"),
                                      relay.const(3)), [1, 2, 3]),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CASES))
def test_functions_that_give_lists(name, env, executor_kind):
    make, wanted = CASES[name]
    assert ints(env.run(make(env), executor_kind)) == wanted


NUMBERS = {
    "hd": (lambda e: e.p.hd(e.exprs([4, 5])), 4),
    "nth": (lambda e: e.p.nth(e.exprs([4, 5]), relay.const(1)), 5),
    "length": (lambda e: e.p.length(e.exprs([4, 5])), 2),
    "sum": (lambda e: e.p.sum(e.exprs([4, 5])), 9),
    "foldl": (lambda e: e.p.foldl(lam(lambda a, x: a * relay.const(10) + x, "a", "x"), relay.const(0), e.exprs([1, 2, 3])), 123),
    "foldr": (lambda e: e.p.foldr(lam(lambda x, a: a * relay.const(10) + x, "x", "a"), relay.const(0), e.exprs([1, 2, 3])), 321),
    "foldr1": (lambda e: e.p.foldr1(lam(lambda x, y: x - y, "x", "y"), e.exprs([5, 2, 1])), 4),
    "size": (lambda e: e.p.size(e.rose(relay.const(1), e.cons(e.rose(relay.const(2), e.nil()), e.nil()))), 2),
    "compose": (lambda e: relay.Call(e.p.compose(lam(lambda x: x + relay.const(1), "x"), lam(lambda x: x * relay.const(10), "x")), [relay.const(2)]), 21),
    "iterate": (lambda e: relay.Call(e.p.iterate(lam(lambda x: x * relay.const(2), "x"), relay.const(5)), [relay.const(1)]), 32),
    "flip": (lambda e: relay.Call(e.p.flip(lam(lambda x, y: x - y, "x", "y")), [relay.const(1), relay.const(5)]), 4),
    "id": (lambda e: e.p.id(relay.const(7)), 7),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_functions_that_give_numbers(name, env, executor_kind):
    make, wanted = NUMBERS[name]
    assert env.run(make(env), executor_kind).numpy() == wanted


@pytest.mark.parametrize("name, wanted", [("map_accumr", (6, [60, 50, 30])), ("map_accuml", (6, [10, 30, 60]))])
def test_map_with_an_accumulator(name, wanted, env):
    step = lam(lambda a, x: relay.Tuple([a + x, (a + x) * relay.const(10)]), "a", "x")
    total, items = env.run(getattr(env.p, name)(step, relay.const(0), env.exprs([1, 2, 3])))
    assert (int(total.numpy()), ints(items)) == wanted


def test_tree_map(env):
    tree = env.rose(relay.const(1), env.cons(env.rose(relay.const(2), env.nil()), env.nil()))
    result = env.run(env.p.tmap(lam(lambda x: x * relay.const(3), "x"), tree))
    assert result.fields[0].numpy() == 3 and result.fields[1].fields[0].fields[0].numpy() == 6


def test_importing_twice_changes_nothing():
    mod = tvm.IRModule()
    mod.import_from_std("prelude.rly")
    before = mod.astext()
    mod.import_from_std("prelude.rly")
    assert mod.astext() == before
    Prelude(mod)
    assert mod.astext() == before


def test_imports_are_typed():
    mod = tvm.IRModule()
    mod.import_from_std("nat.rly")
    nat = mod.get_global_type_var("nat")()
    assert mod["nat_add"].checked_type == relay.FuncType([nat, nat], nat)
    assert Prelude().mod["length"].checked_type is not None


def test_an_import_into_a_module_with_a_mistake():
    mod = tvm.IRModule()
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(3,))
    mod["wrong"] = relay.Function([x, y], x + y)
    mod.import_from_std("nat.rly")
    assert "nat_add" in [v.name_hint for v in mod.get_global_vars()]
    with pytest.raises(tvm.TVMError, match=r"the shapes \(2,?\) and \(3,?\) do not broadcast"):
        relay.transform.InferType()(mod)


def test_errors_of_imports():
    mod = tvm.IRModule()
    with pytest.raises(tvm.TVMError, match="the standard library has no nothing.rly"):
        mod.import_from_std("nothing.rly")
    x = relay.var("x", shape=())
    mod["map"] = relay.Function([x], x)
    with pytest.raises(tvm.TVMError, match="prelude.rly cannot be imported: it defines @map, and the program does so in another way"):
        mod.import_from_std("prelude.rly")
    assert [v.name_hint for v in mod.get_global_vars()] == ["map"]


def test_an_import_in_text():
    mod = relay.parse('import "prelude"\ndef @main() -> int32 { @length(Cons(1, Nil)) }')
    assert relay.create_executor("vm", mod=mod).evaluate()().numpy() == 1


def test_nat(env, executor_kind):
    for name, args, wanted in (("nat_double", (3,), 6), ("nat_add", (3, 4), 7)):
        func = env.p.mod.get_global_var(name)
        assert count(env.p, env.run(func(*(make_nat_expr(env.p, n) for n in args)), executor_kind)) == wanted
        assert count(env.p, env.run(func, executor_kind)(*(make_nat_value(env.p, n) for n in args))) == wanted
    with pytest.raises(ValueError, match="no natural number"):
        make_nat_expr(env.p, -1)


def test_gradient_cells(executor_kind):
    mod = tvm.IRModule()
    mod.import_from_std("gradient.rly")
    _, raw, one, zero = mod.get_type("GradCell")
    ones, zeros = relay.Function([], relay.ones((2,), "float32")), relay.Function([], relay.zeros((2,), "float32"))
    cells = {"raw": raw(relay.const([3.0, 4.0])), "one": one(ones), "zero": zero(zeros)}
    numbers = {"raw": np.array([3, 4]), "one": np.ones(2), "zero": np.zeros(2)}
    get, add, multiply = (mod.get_global_var(name) for name in ("FromGradCell", "AddGradCell", "MultiplyGradCell"))
    plus, times = lam(lambda a, b: relay.add(a, b), "a", "b"), lam(lambda a, b: relay.multiply(a, b), "a", "b")
    for a in cells:
        for b in cells:
            for func, op, ref in ((add, plus, np.add), (multiply, times, np.multiply)):
                result = relay.create_executor(executor_kind, mod=mod).evaluate(get(func(op, cells[a], cells[b])))
                tvm.testing.assert_allclose(result.numpy(), ref(numbers[a], numbers[b]))


# Values of scripts as arguments.


@pytest.fixture(scope="module")
def total(env):
    items = relay.Var("items", env.list(relay.scalar_type("int32")))
    return relay.Function([items], env.p.sum(items))


def test_a_list_as_argument(env, total, executor_kind):
    run = env.run(total, executor_kind)
    assert run(env.value([1, 2, 3])).numpy() == 6 and run(env.value([])).numpy() == 0


def test_a_long_list_goes_in_and_comes_back(env, executor_kind):
    items = relay.Var("items", env.list(relay.scalar_type("int32")))
    values = list(range(20000))
    assert ints(env.run(relay.Function([items], env.p.map(lam(lambda x: x + relay.const(1), "x"), items)), executor_kind)(env.value(values))) == [
        v + 1 for v in values
    ]


def test_a_result_as_argument(env, total, executor_kind):
    made = env.run(env.p.rev(env.exprs([4, 5])), executor_kind)
    assert env.run(total, executor_kind)(made).numpy() == 9


def test_tags_without_constructors(env, total, executor_kind):
    """`container.ADT` has a tag only: the parameter's type says what it means."""
    nil = container.ADT(env.nil.tag, [])
    assert env.run(total, executor_kind)(container.ADT(env.cons.tag, [np.int32(5), nil])).numpy() == 5
    with pytest.raises(TypeError, match="no constructor of tag 7"):
        env.run(total, executor_kind)(container.ADT(7, []))


def test_values_inside_tuples(env, executor_kind):
    pair = relay.Var("pair", relay.TupleType([env.list(relay.scalar_type("int32")), relay.scalar_type("int32")]))
    func = relay.Function([pair], env.p.sum(relay.TupleGetItem(pair, 0)) + relay.TupleGetItem(pair, 1))
    nil = container.ADT(env.nil.tag, [])
    for first in (env.value([1, 2]), container.ADT(env.cons.tag, [np.int32(3), nil])):
        assert env.run(func, executor_kind)((first, np.int32(10))).numpy() == 13


def test_values_that_do_not_fit(env, total, executor_kind):
    run = env.run(total, executor_kind)
    for wrong in (
        ConstructorValue(env.cons.tag, [tvm.nd.array(1.5), env.value([])], env.cons),
        ConstructorValue(env.some.tag, [tvm.nd.array(np.int32(1))], env.some),
        tvm.nd.array(np.int32(1)),
    ):
        with pytest.raises(tvm.TVMError, match="expected"):
            run(wrong)
    with pytest.raises(TypeError, match="Cons takes 2 fields, not 1"):
        run(ConstructorValue(env.cons.tag, [tvm.nd.array(np.int32(1))], env.cons))


def test_values_for_a_program_without_its_module(env, total):
    """A program that was loaded does not know its types: values whose inside cannot be checked are refused."""
    from tvm.runtime.vm import Executable, VirtualMachine

    mod = tvm.IRModule.from_expr(total, env.p.mod.functions, env.p.mod.type_definitions)
    exe = relay.vm.compile(mod, "llvm")
    assert VirtualMachine(exe, tvm.cpu()).invoke("main", env.value([1, 2])).numpy() == 3
    loaded = VirtualMachine(Executable.load_exec(*exe.save()), tvm.cpu())
    with pytest.raises(TypeError, match="is not known here"):
        loaded.invoke("main", env.value([1, 2]))


def test_a_reference_of_another_type(executor_kind):
    r = relay.Var("r", relay.RefType(relay.scalar_type("int32")))
    run = relay.create_executor(executor_kind).evaluate(relay.Function([r], relay.RefRead(r)))
    cell = RefValue(np.int32(1))
    assert run(cell).numpy() == 1
    with pytest.raises(tvm.TVMError, match="the reference: expected int32, found float32"):
        cell.value = np.float32(1.5)
    assert run(cell).numpy() == 1


def test_a_value_that_contains_itself(env, total):
    loop = ConstructorValue(env.cons.tag, [tvm.nd.array(np.int32(1)), None], env.cons)
    loop.fields[1] = loop
    with pytest.raises(ValueError, match="contains itself"):
        env.run(total)(loop)


def test_a_shared_value_is_no_explosion(env):
    value = ConstructorValue(env.rose.tag, [tvm.nd.array(np.int32(1)), env.value([])], env.rose)
    for _ in range(10):
        children = ConstructorValue(env.cons.tag, [value, ConstructorValue(env.cons.tag, [value, env.value([])], env.cons)], env.cons)
        value = ConstructorValue(env.rose.tag, [tvm.nd.array(np.int32(1)), children], env.rose)
    tree = relay.Var("tree", env.tree(relay.scalar_type("int32")))
    assert env.run(relay.Function([tree], env.p.size(tree)), "vm")(value).numpy() == 2**11 - 1


def test_a_closure_as_result_and_argument(env, executor_kind):
    x = relay.var("x", shape=(), dtype="int32")
    y = relay.var("y", shape=(), dtype="int32")
    adder = env.run(relay.Function([x], relay.Function([y], x + y)), executor_kind)(np.int32(2))
    assert adder(np.int32(5)).numpy() == 7


def test_a_reference_as_argument(executor_kind):
    r = relay.Var("r", relay.RefType(relay.scalar_type("int32")))
    func = relay.Function([r], relay.Let(relay.Var("_"), relay.RefWrite(r, relay.RefRead(r) + relay.const(1)), relay.RefRead(r)))
    run = relay.create_executor(executor_kind).evaluate(func)
    cell = RefValue(tvm.nd.array(np.int32(5)))
    assert run(cell).numpy() == 6 and cell.value.numpy() == 6
    assert run(cell).numpy() == 7
    cell.value = np.int32(40)
    assert run(cell).numpy() == 41 and cell.value.numpy() == 41


def test_a_reference_as_result():
    made = relay.create_executor().evaluate(relay.RefCreate(relay.const(3.0)))
    assert isinstance(made, RefValue) and made.value.numpy() == 3


# Tensor arrays.


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_tensor_array(dtype, executor_kind):
    p = Prelude()
    array, write, read, stack = (p.get_global_var(n, dtype) for n in ("tensor_array", "tensor_array_write", "tensor_array_read", "tensor_array_stack"))
    tensor1 = p.get_tensor_ctor("tensor1", dtype)
    v = relay.var("v", shape=(3,), dtype=dtype)
    filled = write(write(array(relay.const(2)), relay.const(0), tensor1(v)), relay.const(1), tensor1(v + v))
    data = np.array([1, 2, 3], dtype)
    run = lambda body: relay.create_executor(executor_kind, mod=p.mod).evaluate(relay.Function([v], body))(data)  # noqa: E731
    assert run(read(filled, relay.const(1))).fields[0].numpy().tolist() == [2, 4, 6]
    stacked = run(stack(filled))
    assert stacked.constructor.name_hint == f"tensor2_{dtype}" and stacked.fields[0].numpy().tolist() == [[1, 2, 3], [2, 4, 6]]


def test_tensor_array_of_the_other_functions(executor_kind):
    p = Prelude()
    get = lambda name: p.get_global_var(name, "float32")  # noqa: E731
    v = relay.var("v", shape=(4,))
    data = np.arange(4, dtype="float32")
    run = lambda body: relay.create_executor(executor_kind, mod=p.mod).evaluate(relay.Function([v], body))(data)  # noqa: E731
    any_v = relay.Let(w := relay.Var("w", relay.TensorType((relay.Any(),))), v, get("tensor_array_unstack_tensor1")(w))
    scattered = run(get("tensor_array_scatter")(get("tensor_array")(relay.const(5)), relay.const([4, 0, 1, 2]), any_v))
    places = []
    while len(scattered.fields) > 0:
        places.append(scattered.fields[0].fields[0].numpy().item() if len(scattered.fields[0].fields) else None)
        scattered = scattered.fields[1]
    assert places == [1, 2, 3, None, 0]
    split = get("tensor_array_split")(get("tensor_array")(relay.const(2)), p.get_tensor_ctor("tensor1", "float32")(v), relay.const([1, 3]))
    assert run(get("tensor_array_concat")(split)).fields[0].numpy().tolist() == [0, 1, 2, 3]
    assert run(get("tensor_array_read")(split, relay.const(1))).fields[0].numpy().tolist() == [1, 2, 3]
    gathered = run(get("tensor_array_gather")(split, relay.const([1])))
    assert gathered.fields[0].numpy().tolist() == [[1, 2, 3]]


def test_names_of_tensor_arrays():
    p = Prelude()
    assert "tensor_take_float16" not in p.mod
    assert p.get_name("tensor_take", "float16") == "tensor_take_float16" and p.get_type("tensor_t", "float16").name_hint == "tensor_float16_t"
    assert p.get_ctor("tensor_t", "tensor_nil", "float16").name_hint == "tensor_nil_float16" and "tensor_take_float16" in p.mod
    assert TensorArrayOps(p, "float16").get_global_var("tensor_take") == p.get_global_var("tensor_take", "float16")
    with pytest.raises(KeyError):
        p.get_global_var("tensor_nothing", "float16")
    with pytest.raises(ValueError, match="no dtype of tensor arrays"):
        p.get_type("tensor_t", "float17")


@pytest.mark.parametrize("shape", [(2, 3), (relay.Any(), 3)])
def test_static_tensor_array(shape, executor_kind):
    p = Prelude()
    ops = StaticTensorArrayOps(p, "float32", shape)
    ops.register()
    get = lambda name: p.get_global_var_static(name, "float32", shape)  # noqa: E731
    make = p.get_tensor_ctor_static("tensor_constructor", "float32", shape)
    v = relay.var("v", shape=(2, 3))
    data = np.arange(6, dtype="float32").reshape(2, 3)
    run = lambda body: relay.create_executor(executor_kind, mod=p.mod).evaluate(relay.Function([v], body))(data)  # noqa: E731
    filled = get("tensor_array_write")(get("tensor_array_write")(get("tensor_array")(relay.const(2)), relay.const(0), make(v)), relay.const(1), make(v + v))
    assert (run(get("tensor_get_data")(get("tensor_array_read")(filled, relay.const(1)))).numpy() == 2 * data).all()
    assert (run(get("tensor_array_stack")(filled)).fields[0].numpy() == np.stack([data, 2 * data])).all()
    assert (run(get("tensor_array_concat")(filled)).fields[0].numpy() == np.concatenate([data, 2 * data])).all()
    assert (run(get("tensor_array_gather")(filled, relay.const([1, 0]))).fields[0].numpy() == np.stack([2 * data, data])).all()
    assert (run(get("tensor_take")(make(v), relay.const(1), relay.const(2))).fields[0].numpy() == data[1:2]).all()
    assert (run(get("tensor_concatenate")(make(v), make(v))).fields[0].numpy() == np.concatenate([data, data])).all()
    assert run(get("tensor_expand_dims")(make(v))).fields[0].shape == (1, 2, 3)
    rows = run(get("tensor_array_unstack")(v))
    assert rows.fields[0].fields[0].numpy().tolist() == [0, 1, 2]
    scattered = get("tensor_array_scatter")(filled, relay.const([0]), get("tensor_array_write")(get("tensor_array")(relay.const(1)), relay.const(0), make(v * v)))
    assert (run(get("tensor_get_data")(get("tensor_array_read")(scattered, relay.const(0)))).numpy() == data * data).all()
    assert ops.is_cached("tensor_array_read") and ops.get_name("tensor_t") == f"static_tensor_float32_{'any' if shape[0] != 2 else 2}_3_t"


def test_static_tensor_array_split(executor_kind):
    p = Prelude()
    ops = StaticTensorArrayOps(p, "float32", (relay.Any(), 2))
    ops.register()
    ops.define_tensor_array_split(value_shape=(3, 2), lengths_shape=(2,), force_update=True)
    value = p.get_tensor_ctor_static("tensor_constructor", "float32", (3, 2))
    split = ops.get_global_var("tensor_array_split")
    v = relay.var("v", shape=(3, 2))
    data = np.arange(6, dtype="float32").reshape(3, 2)
    body = split(ops.get_global_var("tensor_array")(relay.const(2)), value(v), relay.const([1, 2]))
    result = relay.create_executor(executor_kind, mod=p.mod).evaluate(relay.Function([v], body))(data)
    assert (result.fields[1].fields[0].fields[0].numpy() == data[1:]).all()


def test_shape_of_a_tensor_array():
    from tvm.relay.prelude import get_tensor_array_shape

    p = Prelude()
    StaticTensorArrayOps(p, "float32", (2, 3)).register()
    static = p.get_global_var_static("tensor_array", "float32", (2, 3))(relay.const(1))
    assert [int(extent) for extent in get_tensor_array_shape(static, "float32", p)] == [2, 3]
    assert get_tensor_array_shape(p.get_global_var("tensor_array", "float32")(relay.const(1)), "float32", p) is None
    with pytest.raises(tvm.TVMError, match="no tensor array"):
        get_tensor_array_shape(relay.const(1), "float32", p)
