"""`tvm.ir.load_json` reads what TVM's own `save_json` wrote: documents of TVM 0.6 and of 0.7 to 0.18, which store names, maps and
operators in two ways."""

import base64
import json
import struct

import numpy as np
import pytest

import tvm
from tvm import relay


class Writer:
    """A document, node by node, as TVM lays it out."""

    def __init__(self, version="0.14.0"):
        self.old = version.startswith("0.6")
        self.version = version
        self.nodes = [{"type_key": ""}]
        self.arrays = []

    def node(self, type_key, attrs=None, **more):
        node = {"type_key": type_key} | ({"attrs": {name: str(value) for name, value in attrs.items()}} if attrs is not None else {}) | more
        self.nodes.append(node)
        return len(self.nodes) - 1

    def ir(self, type_key, attrs=None, **more):
        """A node of a kind that 0.6 has in the name space of Relay."""
        return self.node("relay." + type_key if self.old else type_key, attrs, **more)

    def text(self, text):
        return text if self.old else self.node("runtime.String", repr_str=text)

    def list(self, *items):
        return self.node("Array", data=list(items))

    def map(self, entries):
        if self.old:
            return self.node("StrMap", keys=list(entries), data=list(entries.values()))
        return self.node("Map", keys=list(entries), data=list(entries.values()))

    def number(self, value, dtype="int32"):
        return self.node("IntImm", {"dtype": dtype, "value": value} | ({} if self.old else {"span": 0}))

    def numbers(self, *values):
        return self.list(*(self.number(value) for value in values))

    def tensor(self, shape, dtype="float32"):
        dims = self.list(*(self.node("tir.Any", {"dtype": "int32", "span": 0}) if dim == "?" else self.number(dim) for dim in shape))
        return self.node("relay.TensorType", {"dtype": dtype, "shape": dims, "span": 0})

    def expr(self, type_key, **attrs):
        return self.node("relay." + type_key, {"_checked_type_": 0, "span": 0, **({} if self.old else {"virtual_device_": 0}), **attrs})

    def var(self, name, annotation=0):
        vid = self.node("relay.Id", {"name_hint": self.text(name)})
        return self.expr("Var", vid=vid, type_annotation=annotation)

    def op(self, name):
        return self.node("relay.Op", global_key=name) if self.old else self.node("Op", repr_str=name)

    def call(self, op, *args, attrs=0):
        return self.expr("Call", op=self.op(op) if isinstance(op, str) else op, args=self.list(*args), attrs=attrs, type_args=0)

    def global_var(self, name):
        return self.ir("GlobalVar", {"_checked_type_": 0, "span": 0, "name_hint": self.text(name)})

    def function(self, params, body, result=0, type_params=0, **attrs):
        fields = self.node("DictAttrs", {"__dict__": self.map(attrs)}) if attrs else 0
        return self.expr("Function", params=self.list(*params), body=body, ret_type=result, type_params=type_params or self.list(), attrs=fields)

    def constant(self, array):
        code = {"f": 2, "i": 0, "u": 1}[array.dtype.kind]
        head = struct.pack("<QQiiiBBH", 0xDD5E40F096B4A13F, 0, 1, 0, array.ndim, code, array.dtype.itemsize * 8, 1)
        data = head + struct.pack(f"<{array.ndim}qq", *array.shape, array.nbytes) + array.tobytes()
        self.arrays.append(base64.b64encode(data).decode())
        return self.expr("Constant", data=len(self.arrays) - 1)

    def module(self, functions, types=()):
        """Functions are pairs of a global variable and a function, types of a name's node and a definition."""
        if self.old:
            entries = [item for pair in functions for item in pair]
            return self.node("relay.Module", {
                "functions": self.node("Map", data=entries), "type_definitions": self.node("Map", data=[item for pair in types for item in pair]),
                "global_var_map_": 0, "global_type_var_map_": 0,
            })  # fmt: skip
        return self.node("IRModule", {
            "functions": self.node("Map", data=[item for pair in functions for item in pair]),
            "type_definitions": self.node("Map", data=[item for pair in types for item in pair]),
            "attrs": 0, "global_infos": 0, "global_type_var_map_": 0, "global_var_map_": 0, "source_map": 0,
        })  # fmt: skip

    def document(self, root):
        return json.dumps({"root": root, "nodes": self.nodes, "b64ndarrays": self.arrays, "attrs": {"tvm_version": self.version}})


VERSIONS = ["0.6.0", "0.7.0", "0.8.0", "0.14.0", "0.18.dev0"]


def run(module, *args):
    return relay.create_executor("debug", mod=module).evaluate()(*args)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_network(version):
    w = Writer(version)
    x = w.var("data", w.tensor((1, 3, 4, 4)))
    weight = w.constant(np.arange(27, dtype="float32").reshape(1, 3, 3, 3) / 27)
    conv = w.node("relay.attrs.Conv2DAttrs", {
        "strides": w.numbers(1, 1), "padding": w.numbers(1, 1, 1, 1), "dilation": w.numbers(1, 1), "groups": 1, "channels": w.number(1),
        "kernel_size": w.numbers(3, 3), "data_layout": w.text("NCHW") if not w.old else "NCHW", "kernel_layout": w.text("OIHW") if not w.old else "OIHW",
        "out_layout": w.text("") if not w.old else "", "out_dtype": "",
        **({"auto_scheduler_rewritten_layout": w.text(""), "meta_schedule_original_shape": w.list()} if version == "0.14.0" else {}),
    })  # fmt: skip
    act = w.call("nn.relu", w.call("nn.conv2d", x, weight, attrs=conv))
    main = w.function([x], w.expr("Tuple", fields=w.list(act, w.call("add", act, w.constant(np.array(1, "float32"))))), w.node("relay.TupleType" if w.old else "TupleType", {"fields": w.list(w.tensor((1, 1, 4, 4)), w.tensor((1, 1, 4, 4))), "span": 0}))
    module = tvm.ir.load_json(w.document(w.module([(w.global_var("main"), main)])))
    expected = tvm.relay.fromtext("""#[version = "0.0.5"]
def @main(%data: Tensor[(1, 3, 4, 4), float32], %w: Tensor[(1, 3, 3, 3), float32]) {
  %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1], channels=1, kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  (%1, add(%1, 1f))
}""")
    data = np.random.default_rng(0).normal(size=(1, 3, 4, 4)).astype("float32")
    found = run(module, data)
    wanted = run(expected, data, np.arange(27, dtype="float32").reshape(1, 3, 3, 3) / 27)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert [p.name_hint for p in module["main"].params] == ["data"]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_whole_language(version):
    """Data types, match, lets, recursion, closures, references, if, type parameters, shared nodes, names that repeat."""
    w = Writer(version)
    a = w.ir("TypeVar", {"name_hint": w.text("A"), "kind": 0, "span": 0})
    header = w.ir("GlobalTypeVar", {"name_hint": w.text("List"), "kind": 5, "span": 0})
    list_of_a = w.ir("TypeCall", {"func": header, "args": w.list(a), "span": 0})
    cons = w.node("relay.Constructor", {"name_hint": w.text("Cons"), "inputs": w.list(a, list_of_a), "belong_to": header, "tag": 0, "_checked_type_": 0, "span": 0})
    nil = w.node("relay.Constructor", {"name_hint": w.text("Nil"), "inputs": w.list(), "belong_to": header, "tag": 1, "_checked_type_": 0, "span": 0})
    data = w.node("relay.TypeData", {"header": header, "type_vars": w.list(a), "constructors": w.list(cons, nil), "span": 0})
    number = w.tensor((), "int32")
    one = w.constant(np.array(1, "int32"))

    xs, head, rest = w.var("xs", list_of_a), w.var("x"), w.var("x")  # two variables of one name
    length = w.global_var("length")

    def pattern(constructor, *fields):
        return w.node("relay.PatternConstructor", {"constructor": constructor, "patterns": w.list(*fields), "span": 0})

    clauses = w.list(
        w.node("relay.Clause", {"lhs": pattern(cons, w.node("relay.PatternVar", {"var": head, "span": 0}), w.node("relay.PatternVar", {"var": rest, "span": 0})), "rhs": w.call("add", one, w.call(length, rest))}),
        w.node("relay.Clause", {"lhs": w.node("relay.PatternWildcard", {"span": 0}), "rhs": w.constant(np.array(0, "int32"))}),
    )
    match = w.expr("Match", data=xs, clauses=clauses, complete=1)
    length_function = w.function([xs], match, number, w.list(a))

    n, r, loop, k = w.var("n", number), w.var("r"), w.var("loop"), w.var("k", number)
    zero = w.constant(np.array(0, "int32"))
    branch = w.expr("If", cond=w.call("equal", k, zero), true_branch=w.call(nil), false_branch=w.call(cons, k, w.call(loop, w.call("subtract", k, one))))
    body = w.function([k], branch, w.ir("TypeCall", {"func": header, "args": w.list(number), "span": 0}))
    built = w.call(loop, n)
    write = w.expr("RefWrite", ref=r, value=w.call(length, built))
    skipped = w.var("_")
    final = w.expr("Tuple", fields=w.list(w.expr("RefRead", ref=r), w.expr("TupleGetItem", tuple_value=w.expr("Tuple", fields=w.list(n, one)), index=1)))
    tree = w.expr("Let", var=r, value=w.expr("RefCreate", value=zero), body=w.expr("Let", var=loop, value=body, body=w.expr("Let", var=skipped, value=write, body=final)))
    main = w.function([n], tree)
    module = tvm.ir.load_json(w.document(w.module([(length, length_function), (w.global_var("main"), main)], [(header, data)])))
    found = run(module, np.array(4, "int32"))
    assert [int(value.numpy()) for value in found] == [4, 1]
    assert "Cons" in module.astext()


def test_a_function_alone_and_its_attributes():
    w = Writer()
    x = w.var("p0", w.tensor(("?", 2)))
    inner = w.function([x], w.call("exp", x), Primitive=w.number(1), Compiler=w.text("mine"))
    y = w.var("y", w.tensor(("?", 2)))
    function = tvm.ir.load_json(w.document(w.function([y], w.call(inner, y))))
    assert isinstance(function, relay.Function)
    called = function.body.op
    assert called.attrs["Primitive"] == 1 and called.attrs["Compiler"] == "mine"
    assert str(function.params[0].type_annotation.shape[0]) == "?"


def test_long_chains_do_not_recurse():
    w = Writer()
    x = w.var("x", w.tensor((2,)))
    value = x
    for _ in range(20000):
        value = w.call("negative", value)
    function = tvm.ir.load_json(w.document(w.function([x], value)))
    np.testing.assert_array_equal(run(tvm.IRModule.from_expr(function), np.array([1, 2], "float32")).numpy(), [1, 2])


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"nodes": []}, "refers to node None"),
        ({"nodes": [{"type_key": ""}], "root": 0}, "holds a null"),
        ({"nodes": [{"type_key": ""}, {"type_key": "tir.PrimFunc", "attrs": {}}], "root": 1}, "holds a tir.PrimFunc"),
        ({"nodes": [{"type_key": ""}, {"type_key": "relax.expr.Function", "attrs": {}}], "root": 1}, "holds a relax.expr.Function"),
        ({"nodes": [{"type_key": ""}, {"type_key": "relay.Function", "attrs": {"params": "9", "body": "0"}}], "root": 1}, "refers to node 9"),
        ({"nodes": [{"type_key": ""}, {"type_key": "relay.Function", "attrs": {"body": "0"}}], "root": 1}, "lacks params"),
        ({"nodes": 3, "root": 1}, "not a list"),
        ({"format": "relay-json 7"}, "another format"),
    ],
)
def test_documents_that_are_refused(document, message):
    with pytest.raises(tvm.TVMError, match=message):
        tvm.ir.load_json(json.dumps(document))


def test_a_node_that_needs_itself():
    w = Writer()
    args = w.list()
    call = w.expr("Call", op=w.op("exp"), args=args, attrs=0, type_args=0)
    w.nodes[args]["data"] = [call]
    with pytest.raises(tvm.TVMError, match="needs itself"):
        tvm.ir.load_json(w.document(w.function([w.var("x")], call)))


def test_damaged_documents_are_errors():
    w = Writer()
    x = w.var("x", w.tensor((2,)))
    document = w.document(w.module([(w.global_var("main"), w.function([x], w.call("add", x, w.constant(np.array([1, 2], "float32")))))]))
    random = np.random.default_rng(0)
    for _ in range(200):
        text = list(document)
        for _ in range(random.integers(1, 4)):
            text[random.integers(len(text))] = str(random.choice(list('0129{}[]",:x')))
        try:
            tvm.ir.load_json("".join(text))
        except tvm.TVMError:
            pass


def written(node):
    return json.loads(tvm.ir.save_json(node))


def test_the_layout_of_a_call():
    x = relay.var("x", shape=(3, 4))
    document = written(relay.nn.conv2d(x, x, channels=2, padding=(1, 1)))
    nodes = document["nodes"]
    assert document["attrs"] == {"tvm_version": "0.14.0"} and nodes[0] == {"type_key": ""} and document["b64ndarrays"] == []
    call = nodes[document["root"]]
    assert call["type_key"] == "relay.Call" and set(call["attrs"]) == {"_checked_type_", "args", "attrs", "op", "span", "type_args", "virtual_device_"}
    assert nodes[int(call["attrs"]["op"])] == {"type_key": "Op", "repr_str": "nn.conv2d"}
    args = nodes[int(call["attrs"]["args"])]
    assert args["type_key"] == "Array" and len(args["data"]) == 2 and args["data"][0] == args["data"][1]
    var = nodes[args["data"][0]]
    name = nodes[int(nodes[int(var["attrs"]["vid"])]["attrs"]["name_hint"])]
    assert var["type_key"] == "relay.Var" and name == {"type_key": "runtime.String", "repr_str": "x"}
    attrs = nodes[int(call["attrs"]["attrs"])]
    assert attrs["type_key"] == "relay.attrs.Conv2DAttrs" and attrs["attrs"]["groups"] == "1" and attrs["attrs"]["kernel_size"] == "0"
    assert nodes[int(attrs["attrs"]["channels"])] == {"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "2"}}
    assert [nodes[at]["attrs"]["value"] for at in nodes[int(attrs["attrs"]["padding"])]["data"]] == ["1"] * 4
    tensor = nodes[int(var["attrs"]["type_annotation"])]
    assert tensor["type_key"] == "relay.TensorType" and tensor["attrs"]["dtype"] == "float32"
    assert [nodes[at]["attrs"]["value"] for at in nodes[int(tensor["attrs"]["shape"])]["data"]] == ["3", "4"]


PROGRAMS = {
    "shared into a closure": "def @main(%x: float32) { %0 = exp(%x); let %f = fn (%y: float32) { add(%0, %y) }; (%f(%x), %0) }",
    "shared by branches": "def @main(%x: float32, %b: bool) { %0 = exp(%x); (if (%b) { add(%0, %0) } else { %0 }, if (%b) { %x } else { %0 }) }",
    "recursion of a let": "def @main(%n: int32) { let %f = fn (%k: int32) -> int32 { if (equal(%k, 0)) { 0 } else { %f(subtract(%k, 1)) } }; %f(%n) }",
    "references": "def @main(%x: float32) { let %r = ref(%x); let %_ = ref_write(%r, exp(%x)); ref_read(%r) }",
    "data types": "type L[A] { C(A, L[A]), N } def @f[A](%l: L[A]) -> int32 { match? (%l) { C(_, %t) => add(1, @f(%t)), N => 0 } } def @main(%x: float32) { @f(C(%x, N)) }",
    "open extents": "def @main(%x: Tensor[(2, ?), float16], %y: Tensor[(?, ?), int8]) { (%x, %y) }",
    "attributes": 'def @main(%x: Tensor[(4, 4), float32], a=1, b="two", c=[1, 2], d=1.5) { %0 = split(%x, indices_or_sections=[1, 3]); (clip(%0.1, a_min=-1f, a_max=2f), full(0f, shape=[2], dtype="int8")) }',
    "a kernel": "def @main(%x: Tensor[(4), float32]) { %0 = fn (%p: Tensor[(4), float32], Primitive=1) { exp(%p) }; %0(%x) }",
    "constants": "def @main() { (1f16, True, 3i64, 2u8, (1, 2)) }",
    "several functions": "def @b(%x: float32) -> float32 { @main(%x) } def @main(%x: float32) -> float32 { @b(%x) }",
    "named places": 'def @main(%"a.b": float32) { %"a.b" }',
}  # fmt: skip


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_what_is_written_is_read(text):
    for mod in (relay.fromtext('#[version = "0.0.5"]\n' + text), tvm.IRModule(__import__("relay").parse('#[version = "0.0.5"]\n' + text).functions)):
        if "type L" in text and not mod.type_definitions:
            continue
        again = tvm.ir.load_json(tvm.ir.save_json(mod))
        tvm.ir.assert_structural_equal(again, mod)
        assert again.astext() == mod.astext()
        if "L[" not in text and "@b" not in text:
            tvm.ir.assert_structural_equal(tvm.ir.load_json(tvm.ir.save_json(mod["main"])), mod["main"])
    assert "nodes" in written(relay.fromtext('#[version = "0.0.5"]\n' + text))


def test_the_prelude_is_laid_out_as_tvm_does():
    mod = tvm.IRModule()
    relay.Prelude(mod)
    mod = relay.transform.InferType()(mod)
    assert "nodes" in written(mod)
    tvm.ir.assert_structural_equal(tvm.ir.load_json(tvm.ir.save_json(mod)), mod)


def test_parts_types_and_containers_are_read_again():
    x = relay.var("x", shape=(2,))
    a, n = relay.TypeVar("a"), tvm.te.var("n")
    for node in (x, relay.exp(x), relay.Let(x, relay.const(1.0), x), a, relay.FuncType([a], relay.TupleType([a, relay.TensorType((n, 3 * n + 1), "int8")]), [a]),
                 relay.RefType(relay.TensorType(())), relay.op.get("exp"), relay.GlobalVar("g"), relay.GlobalVar("g")(x)):  # fmt: skip
        assert "nodes" in written(node), node
        again = tvm.ir.load_json(tvm.ir.save_json(node))
        if not isinstance(node, relay.GlobalVar) and not isinstance(node, relay.Call):
            tvm.ir.assert_structural_equal(again, node, map_free_vars=True)
        assert type(again) is type(node)
    values = tvm.runtime.convert({"a": [1, 2.5, "three", True, None], "b": {"c": 1 << 40}})
    assert tvm.ir.load_json(tvm.ir.save_json(values)) == values and written(values)["nodes"][-1]["type_key"] == "Map"
    assert tvm.ir.load_json(tvm.ir.save_json(tvm.ir.Range(2, 10))) == tvm.ir.Range(2, 10) == tvm.ir.Range.from_min_extent(2, 8)
    assert tvm.ir.load_json(tvm.ir.save_json(tvm.tir.IntImm("int32", 4))).dtype == "int32"


def test_extents_with_names_are_one_where_they_were():
    n, other = tvm.te.var("n"), tvm.te.var("n")
    x, y = relay.var("x", shape=(n, 2 * n + 1)), relay.var("y", shape=(n // 2, n % 3, other, relay.Any()))
    function = relay.Function([x, y], relay.Tuple([x, y]))
    assert "nodes" in written(function)
    again = tvm.ir.load_json(tvm.ir.save_json(function))
    (a, b), (c, d, e, _) = (param.type_annotation.shape for param in again.params)
    assert b == 2 * a + 1 and c == a // 2 and d == a % 3 and e != a and e.name == "n"


def test_places_and_module_attributes_are_kept():
    place = relay.Span(relay.SourceName("net.py"), 3, 4, 5, 6)
    again = tvm.ir.load_json(tvm.ir.save_json(relay.Var("q", span=place)))
    assert again.span.source_name.name == "net.py" and (again.span.line, again.span.end_line, again.span.column, again.span.end_column) == (3, 4, 5, 6)
    mod = relay.fromtext('#[version = "0.0.5"] def @main(%x: float32) { %x }').with_attr({"note": "n", "level": 3})
    attrs = tvm.ir.load_json(tvm.ir.save_json(mod)).attrs
    assert attrs["note"] == "n" and attrs["level"] == 3


def test_deep_programs_are_written_and_read_on_stacks_of_their_own():
    x = relay.var("x", shape=(2,))
    chain, nested = x, x
    for _ in range(20000):
        chain = relay.negative(chain)
    for _ in range(5000):
        nested = relay.Function([], nested)
    for body in (chain, nested):
        again = tvm.ir.load_json(tvm.ir.save_json(relay.Function([x], body)))
        tvm.ir.assert_structural_equal(again, relay.Function([x], body))


def test_what_the_layout_has_no_place_for_is_kept_all_the_same():
    mod = relay.fromtext('#[version = "0.0.5"] def @main(%x: Tensor[(2), bfloat16]) { add(%x, cast(1f, dtype="bfloat16")) }')
    mod = relay.transform.FoldConstant()(mod)
    tvm.ir.assert_structural_equal(tvm.ir.load_json(tvm.ir.save_json(mod)), mod)
    named = relay.fromtext('#[version = "0.0.5"] def @main(%x: Tensor[(n, m), int8], %y: Tensor[(n * 2 + 1, max(n, m)), int8]) { (%x, %y) }')
    assert tvm.ir.load_json(tvm.ir.save_json(named)).astext() == named.astext()
    polymorphic = relay.fromtext('#[version = "0.0.5"] def @main(%x) { exp(%x) }')
    tvm.ir.assert_structural_equal(tvm.ir.load_json(tvm.ir.save_json(polymorphic)), polymorphic)


def test_documents_that_would_grow_beyond_bounds():
    w = Writer()
    last = w.list()
    for _ in range(60):
        last = w.list(last, last)
    with pytest.raises(tvm.TVMError, match="containers are too large"):
        tvm.ir.load_json(w.document(last))
    w = Writer()
    last = w.tensor((2,))
    for _ in range(60):
        last = w.node("TupleType", {"fields": w.list(last, last)})
    with pytest.raises(tvm.TVMError, match="a type is larger than 1048576 parts"):
        tvm.ir.load_json(w.document(last))
    w = Writer()
    last = w.list()
    for _ in range(200):
        last = w.list(last)
    with pytest.raises(tvm.TVMError, match="nests too deeply"):
        tvm.ir.load_json(w.document(last))
    with pytest.raises(tvm.TVMError, match="no operator has attributes relay.attrs.NoneAttrs"):
        w = Writer()
        x = w.var("x")
        tvm.ir.load_json(w.document(w.call("exp", x, attrs=w.node("relay.attrs.NoneAttrs", {"a": 1}))))
    with pytest.raises(tvm.TVMError, match="the document has no array 7"):
        w = Writer()
        tvm.ir.load_json(w.document(w.expr("Constant", data=7)))


def test_extents_and_types_as_they_were_called_before():
    """Variables and terms of extents had no prefix, and a variable of types had its name in a variable of its own."""
    w = Writer("0.6.0")
    n = w.node("Variable", {"dtype": "int32", "name": "n"})
    two = w.number(2)
    double = w.node("Mul", {"a": n, "b": two, "dtype": "int32"})
    named = tvm.ir.load_json(w.document(n))
    assert isinstance(named, tvm.tir.Var) and named.name == "n"
    assert isinstance(tvm.ir.load_json(w.document(w.node("SizeVar", {"dtype": "int32", "name": "m"}))), tvm.tir.SizeVar)
    x = w.var("x", w.node("relay.TensorType", {"dtype": "float32", "shape": w.list(double, two), "span": 0}))
    assert str(tvm.ir.load_json(w.document(w.function([x], w.call("exp", x)))).params[0].type_annotation) == "Tensor[(2 * n, 2), float32]"
    for kind in ("TypeVar", "GlobalTypeVar"):
        made = tvm.ir.load_json(w.document(w.node("relay." + kind, {"kind": 0, "span": 0, "var": w.node("Variable", {"dtype": "int32", "name": "A"})})))
        assert isinstance(made, getattr(tvm.ir, kind)) and made.name_hint == "A"
