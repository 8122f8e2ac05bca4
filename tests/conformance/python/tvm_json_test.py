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
