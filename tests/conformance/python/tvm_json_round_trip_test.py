"""What `tvm.ir.save_json` writes, `load_json` reads: programs of the tests, values, and what TVM's layout has no place for. Hostile documents
are errors."""

import json
from pathlib import Path

import pytest

import relay as native
import tvm
from tvm import relay

TESTS = Path(__file__).resolve().parents[2]
# Python has a dtype in a dictionary as its name, so that it is read again as a text.
NOT_THE_SAME = {"parse/dictionaries.rly"}


def again(thing):
    return tvm.ir.load_json(tvm.ir.save_json(thing))


def nodes_of(thing):
    return json.loads(tvm.ir.save_json(thing)).get("nodes")


def check(path, mod):
    difference = native.structural_difference(mod, again(mod))
    assert difference is None, f"{path}: {difference}"


@pytest.mark.parametrize("folder", ["parse", "print", "op", "transform", "infer", "run", "program"])
def test_programs_of_the_tests(folder):
    infer = native.transform.create("InferType")
    read = 0
    for path in sorted((TESTS / folder).rglob("*.rly")):
        if str(path.relative_to(TESTS)) in NOT_THE_SAME:
            continue
        try:
            module = native.parse(path.read_text(), str(path))
        except (native.RelayError, UnicodeDecodeError):
            continue  # a test of an error
        check(path, module)
        read += 1
        try:
            typed = infer(module)
        except native.RelayError:
            continue  # another
        check(path, typed)
    assert read > 0


def test_types_of_open_shape():
    x, y = relay.var("x"), relay.var("y", shape=(2,))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, y], x + y)))
    assert nodes_of(mod) is None and tvm.ir.structural_equal(again(mod), mod)
    assert again(mod)["main"].checked_type == mod["main"].checked_type
    assert tvm.ir.structural_equal(again(mod["main"]), mod["main"])
    open_shape = native.parse('#[version = "0.0.5"] def @main(%x: Tensor[_, float32]) { %x }', "f")
    assert tvm.ir.structural_equal(again(open_shape), open_shape)


def test_texts_that_are_no_utf_8():
    mod = native.parse('#[version = "0.0.5"] def @main(%x: float32, tag="a\\xffb") { %x }', "f")
    assert tvm.ir.structural_equal(again(mod), mod)
    with pytest.raises(tvm.TVMError, match="save_json cannot write a Function"):
        tvm.ir.save_json(mod["main"])


def test_constants_of_equal_numbers_stay_small():
    mod = native.parse('#[version = "0.0.5"] def @main() { (Constant(1.5, (1000000000), float32), Constant(True, (300, 400), bool)) }', "f")
    text = tvm.ir.save_json(mod)
    assert len(text) < 5000 and tvm.ir.load_json(text).astext() == mod.astext()
    assert "text" not in str(nodes_of(native.parse('#[version = "0.0.5"] def @main() { Constant(2, (3), int8) }', "f")))
    for wrong in ("Constant(1, (2), float32) + 1f", "1f", "Constant(" * 5000, "Constant("):
        with pytest.raises(tvm.TVMError):
            tvm.ir.load_json(document({"type_key": "relay.Constant", "attrs": {"text": wrong}}))


def test_values_are_equal_to_what_they_were():
    mod = tvm.IRModule()
    relay.Prelude(mod)
    _, cons, nil = mod.get_type("List")
    for value in ([1, 2], (1, 2), {"a": 1}, {1: 2}, [1.5, 2], [True, 1], cons(relay.const(1), nil()), cons, relay.const(1.5, "bfloat16"), tvm.tir.IntImm("int64", 3)):
        assert tvm.ir.structural_equal(value, again(value)), value
    assert not tvm.ir.structural_equal(1, True) and not tvm.ir.structural_equal(1, 2) and not tvm.ir.structural_equal(1, 1.0)
    assert nodes_of(relay.const(1.5, "bfloat16")) is not None


def test_lists_that_share_parts_are_written_once():
    def shared(levels, made):
        for _ in range(levels):
            made = [made, made]
        return made

    few = shared(16, [])
    assert len(nodes_of(few)) == 18 and again(few) == few
    read = again(few)
    assert read[0] is read[1]
    equal = again([[1], [1]])
    assert equal[0] is not equal[1]
    # More elements than the reader takes: another document, which shares them, too.
    many = shared(60, [])
    assert len(tvm.ir.save_json(many)) < 5000
    read = again(many)
    assert read[0] is read[1]
    own = []
    own.append(own)
    read = again(own)
    assert read[0] is read


def test_equal_attributes_numbers_and_places_are_written_once():
    place = relay.Span(relay.SourceName("net.py"), 3, 4, 5, 6)
    value = relay.Var("x", relay.TensorType((1, 4, 5, 5)), place)
    for _ in range(50):
        value = relay.Call(relay.op.get("strided_slice"), [value], relay.strided_slice(value, [0, 0, 0, 0], [1, 4, 5, 5], [1, 1, 1, 1]).attrs, span=place)
    kinds = [node["type_key"] for node in nodes_of(value)]
    assert kinds.count("relay.attrs.StridedSliceAttrs") == 1 and kinds.count("Span") == 1 and kinds.count("IntImm") == 4
    assert tvm.ir.structural_equal(relay.Function(relay.analysis.free_vars(value), value), again(relay.Function(relay.analysis.free_vars(value), value)))


def test_literals_beyond_64_bits():
    mod = native.parse('#[version = "0.0.5"] def @main() { cast(18446744073709551615, dtype="uint64") }', "f")
    assert tvm.ir.structural_equal(again(mod), mod)


def document(*nodes, root=1, **more):
    return json.dumps({"root": root, "nodes": [{"type_key": ""}, *nodes], **more})


def terms(name, count, leaf):
    """A type whose extent is a term of the one before with itself, so many times."""
    nodes = [{"type_key": "relay.TensorType", "attrs": {"shape": "2", "dtype": "float32"}}, {"type_key": "Array", "data": [3 + count]}, leaf]
    nodes += [{"type_key": "tir." + name, "attrs": {"a": str(3 + at), "b": str(3 + at)}} for at in range(count)]
    return document(*nodes)


def number(value):
    return {"type_key": "IntImm", "attrs": {"value": str(value), "dtype": "int64"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (terms("Mul", 40, number(3)), "node 9 of the document has a result of more than 64 bits"),
        (terms("FloorDiv", 1, number(0)), "node 4 of the document divides by 0"),
        (terms("FloorMod", 1, number(0)), "node 4 of the document divides by 0"),
        (terms("Mul", 500, {"type_key": "tir.Var", "attrs": {"name": "n"}}), "a dimension is"),
        (document({"type_key": "tir.Add", "attrs": {"a": "2", "b": "2"}}, {"type_key": "TupleType", "attrs": {}}), "holds a tir.Add|computes with what is no extent"),
        (document(number(2**63)), "has 9223372036854775808 as value, which is not between"),
        (document(number("9" * 5000)), "the document is damaged"),
        (document({"type_key": "relay.Constant", "attrs": {"literal": "[" * 20000}}), "a literal of the document is no number"),
        (document({"type_key": "Range"}), "Range, lacks min"),
        (document({"type_key": "Range", "attrs": {"min": "0", "extent": "2"}}, number(3)), "a range of something else than extents"),
        (document({"type_key": "VirtualDevice", "attrs": {"device_type_int": "-5"}}), "has -5 as device_type_int"),
        (document({"type_key": "VirtualDevice", "attrs": {"device_type_int": "9" * 30}}), "as device_type_int, which is not between"),
        (document({"type_key": "relay.Var", "attrs": {"span": "2"}}, {"type_key": "Span", "attrs": {"line": "9" * 30}}), "as line, which is not between"),
        (document({"type_key": "Map", "keys": [7], "data": [0]}), "refers to node 7"),
        (document({"type_key": "Array", "data": [1, 1]}), "nests too deeply|needs itself"),
    ],
)
def test_hostile_documents(text, message):
    with pytest.raises(tvm.TVMError, match=message):
        tvm.ir.load_json(text)


def test_attributes_that_many_nodes_have():
    numbers = [{"type_key": "Array", "data": [4] * (1 << 19)}, number(1)]
    attrs = {"type_key": "DictAttrs", "attrs": {"__dict__": "2"}}
    functions = [{"type_key": "relay.Function", "attrs": {"params": "0", "body": str(at + 1), "attrs": "1"}} for at in range(5, 45)]
    nodes = [attrs, {"type_key": "Map", "keys": ["a"], "data": [3]}, *numbers, *functions, {"type_key": "Op", "repr_str": "exp"}]
    with pytest.raises(tvm.TVMError, match="the document's attributes are too large"):
        tvm.ir.load_json(document(*nodes, root=5))


def test_arrays_of_bfloat16_in_files_of_parameters():
    value = relay.const([1.5, -2.0], "bfloat16").data
    read = tvm.runtime.load_param_dict(tvm.runtime.save_param_dict({"w": value}))["w"]
    assert read.dtype == "bfloat16" and read.numpy().tobytes() == value.numpy().tobytes()
