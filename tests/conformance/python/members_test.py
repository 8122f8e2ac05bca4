"""The table of the members of TVM's classes: each is in the state that `members.tsv` says, and what raises says what is missing."""

import inspect
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import members  # noqa: E402
import names  # noqa: E402

COUNTS = {"works": 264, "raises": 10, "out of scope": 28}


def test_counts(capsys):
    found = Counter(members.judge(cls, member)[0] for cls, member, _ in members.rows())
    with capsys.disabled():
        print("\n" + ", ".join(f"{state}: {count}" for state, count in found.items()))
    assert found == COUNTS


@pytest.mark.parametrize(("cls", "member", "state"), members.rows())
def test_member(cls, member, state):
    found, why = members.judge(cls, member)
    assert found == state, why
    assert (why == "") == (state == "works")
    if state != "raises":
        return
    example = members.examples().get(cls, None)
    try:
        static = inspect.getattr_static(names.resolve(cls), member)
    except AttributeError:  # a class of classes gives it
        static = getattr(names.resolve(cls), member)
    with pytest.raises(NotImplementedError) as caught:
        if isinstance(static, property):
            static.fget(example)
        else:
            # As many arguments as it needs.
            needed = [p for p in inspect.signature(static).parameters.values() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
            static(example, *["argument"] * (len(needed) - 1))
    assert member in str(caught.value)


def test_no_row_twice():
    rows = [(cls, member) for cls, member, _ in members.rows()]
    assert len(set(rows)) == len(rows)


def test_data_types_of_a_module_are_a_map():
    import tvm
    from tvm import relay

    mod = tvm.IRModule()
    mod.import_from_std("prelude.rly")
    by_name = {header.name_hint: data for header, data in mod.type_definitions.items()}
    assert list(by_name) == ["List", "Option", "Tree"]
    assert mod.type_definitions[mod.get_global_type_var("List")] is by_name["List"]
    again = tvm.IRModule(mod.functions, mod.type_definitions)
    assert list(again.type_definitions) == list(mod.type_definitions) and relay.testing.run_infer_type(relay.const(1)) is not None


def test_modules_have_attributes_that_passes_keep():
    import tvm
    from tvm import relay

    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], x + relay.const(1.0) * relay.const(2.0)))
    assert mod.attrs is None and mod.get_attr("executor") is None
    marked = mod.with_attr("executor", "graph").with_attr({"rounds": 2})
    assert mod.get_attr("executor") is None and marked.get_attr("executor") == "graph" and marked.attrs == {"executor": "graph", "rounds": 2}
    assert tvm.ir.structural_equal(mod, marked)
    folded = tvm.transform.Sequential([relay.transform.InferType(), relay.transform.FoldConstant()])(marked)
    assert folded is not marked and folded.attrs == marked.attrs
    assert folded.without_attr("executor").attrs == {"rounds": 2} and folded.without_attr("executor").without_attr("rounds").attrs is None
    assert tvm.IRModule({"f": mod["main"]}, attrs={"a": 1}).get_attr("a") == 1
    with pytest.raises(TypeError, match="the name of an attribute is a str, not int"):
        mod.with_attr(1, 2)


def test_extents_are_the_same_where_they_are_equal():
    from tvm import relay, te

    n = te.size_var("n")
    body = relay.var("x", shape=(n, 3)) + relay.const(1.0)
    shape = relay.testing.run_infer_type(body).checked_type.shape
    assert shape[0].same_as(n) and not shape[0].same_as(te.size_var("n")) and not shape[0].same_as(n + 1)
    assert shape[1].same_as(3) and not shape[1].same_as(4) and not shape[1].same_as(n)
