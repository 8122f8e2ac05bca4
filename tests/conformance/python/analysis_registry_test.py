"""Every analysis has all that an analysis must have: the analyses are those of relay.analysis, and what each lacks fails here.

The properties are of programs that stand here: networks, loops, data types, references, closures.
"""

import importlib.util
import inspect
import json
import re
from pathlib import Path

import numpy as np
import pytest

import relay
import tvm
from relay import analysis
from relay import sparse

ROOT = Path(__file__).resolve().parents[3]
NAMES = sorted(analysis.__all__)
SPARSE = ("process_conv2d_params", "process_dense_params")

# Analyses of Relay alone.
NOT_IN_TVM = {
    "AnnotatedRegion": "what AnnotatedRegionSet gives; TVM's class has no public name",
    "extract_intermediate_expr": "extract_intermdeiate_expr, spelt right",
    "verify": "well_formed with the reasons",
}

# Analyses of which the recorded cases have another name, or none: the file that tests their behaviours.
TESTED_IN = {
    "AnnotatedRegion": "tests/conformance/python/tvm_partition_test.py",
    "AnnotatedRegionSet": "tests/conformance/oracle/analyses.jsonl",
    "CallGraph": "tests/conformance/oracle/analyses.jsonl",
    "Feature": "tests/conformance/python/tvm_analysis_test.py",
    "LayerCounter": "tests/conformance/python/tvm_analysis_test.py",
    "extract_intermdeiate_expr": "tests/conformance/python/tvm_analysis_test.py",
    "extract_intermediate_expr": "tests/python/test_analysis.py",
    "get_calibration_data": "tests/conformance/python/tvm_partition_functions_test.py",
    "list_fake_quantized_op_freqs": "tests/conformance/python/tvm_fake_quantization_test.py",
    "post_order_visit": "tests/conformance/oracle/analyses.jsonl",
    "verify": "tests/python/test_analysis.py",
}
OTHER_NAMES = {"AnnotatedRegion": "get_region", "AnnotatedRegionSet": "annotated_regions", "CallGraph": "call_graph", "post_order_visit": "post_order"}

RECORDED = [json.loads(line)["name"] for line in (ROOT / "tests/conformance/oracle/analyses.jsonl").read_text().splitlines() if line.strip()]

PROGRAMS = {
    "network": """
def @main(%x: Tensor[(2, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %v: Tensor[(5, 144), float32]) {
  %0 = nn.conv2d(%x, %w, kernel_size=[3, 3], channels=4);
  %1 = nn.relu(%0);
  %2 = nn.dense(nn.batch_flatten(%1), %v);
  add(%2, exp(%2))
}""",
    "loop": """
def @sum(%n: int32, %x: Tensor[(3), float32]) -> Tensor[(3), float32] {
  if (%n <= 0) { %x } else { let %y = %x + tanh(%x); @sum(%n - 1, %y) }
}
def @main(%x: Tensor[(3), float32]) { @sum(4, %x) }""",
    "data": """
import "prelude"
def @main(%x: Tensor[(2), float32], %l: List[Tensor[(2), float32]]) {
  match (%l) { Cons(%h, _) => %h + %x, Nil => %x }
}""",
    "references": """
def @main(%x: Tensor[(2), float32]) {
  let %r = ref(%x);
  let %u = ref_write(%r, exp(%x));
  (ref_read(%r), %x)
}""",
    "closures": """
def @main(%x: Tensor[(2), float32], %c: bool) {
  let %f = fn (%y: Tensor[(2), float32]) { %y * %x };
  let %g = if (%c) { %f } else { fn (%z: Tensor[(2), float32]) { %z } };
  %g(%g(%x))
}""",
}  # fmt: skip


@pytest.fixture(params=PROGRAMS)
def module(request):
    return relay.transform.InferType()(relay.parse(PROGRAMS[request.param]))


def nodes(expr):
    found = []
    analysis.post_order_visit(expr, found.append)
    return found


def calls(mod):
    names = []
    for var in mod.get_global_vars():
        names += [e.op.name for e in nodes(mod[var]) if isinstance(e, relay.Call) and isinstance(e.op, relay.Op)]
    return names


def variables_agree(mod):
    for var in mod.get_global_vars():
        func = mod[var]
        free, bound, every = (list(f(func.body)) for f in (analysis.free_vars, analysis.bound_vars, analysis.all_vars))
        assert not analysis.free_vars(func)
        assert set(every) == set(free) | set(bound) and not set(free) & set(bound)
        assert set(free) <= set(func.params)


def type_variables_agree(mod):
    for var in mod.get_global_vars():
        func = mod[var]
        free, bound, every = (set(f(func)) for f in (analysis.free_type_vars, analysis.bound_type_vars, analysis.all_type_vars))
        assert every == free | bound and set(func.type_params) <= bound


def each_node_once(mod):
    for var in mod.get_global_vars():
        seen = nodes(mod[var])
        computed = [e for e in seen if not isinstance(e, (relay.Op, relay.GlobalVar, relay.Constructor))]
        assert len(computed) == len(set(computed)) and seen[-1].same_as(mod[var])
        place = {e: i for i, e in enumerate(seen)}
        assert all(place[arg] < place[e] for e in seen if isinstance(e, relay.Call) for arg in e.args if isinstance(arg, relay.Call))


def frequencies_count_calls(mod):
    names = calls(mod)
    assert dict(analysis.list_op_freqs(mod)) == {name: names.count(name) for name in set(names)}
    normal = relay.transform.ToANormalForm()(mod)
    assert dict(analysis.list_op_freqs(normal)) == {name: calls(normal).count(name) for name in set(calls(normal))}


def layers_are_calls(mod):
    for var in mod.get_global_vars():
        counts = {name: calls_in.count(name) for calls_in in [calls(mod)] for name in set(calls_in)}
        for name, count in counts.items():
            layers = analysis.count_layers(mod[var], [name])
            assert 0 <= layers <= count
            counter = analysis.LayerCounter([name])
            counter.visit(mod[var])
            assert counter.count() == layers


def macs_are_of_products(mod):
    known = {"nn.conv2d", "nn.dense"} & set(calls(mod))
    total = sum(analysis.get_total_mac_number(mod[var]) for var in mod.get_global_vars())
    assert (total > 0) == bool(known)
    folded = relay.transform.EliminateCommonSubexpr()(mod)
    assert sum(analysis.get_total_mac_number(folded[var]) for var in folded.get_global_vars()) <= total


def features_are_there(mod):
    kinds = {"If": relay.If, "Let": relay.Let, "Match": relay.Match, "RefRead": relay.RefRead, "Tuple": relay.Tuple}
    for var in mod.get_global_vars():
        found = {f.name[1:] for f in analysis.detect_feature(mod[var])}
        inside = nodes(mod[var])
        for name, kind in kinds.items():
            if name != "Match":
                assert (name in found) == any(isinstance(e, kind) for e in inside), name
    assert set(analysis.detect_feature(mod)) >= set(analysis.detect_feature(mod["main"])) & {analysis.Feature.fIf, analysis.Feature.fMatch}


def dtypes_are_of_types(mod):
    assert "float32" in analysis.all_dtypes(mod["main"])
    assert analysis.all_dtypes(mod["main"]) <= {"float32", "int32", "bool"}


def constants_are_constants(mod):
    folded = relay.transform.FoldConstant()(mod)
    for var in folded.get_global_vars():
        assert all(analysis.check_constant(e) for e in nodes(folded[var]) if isinstance(e, relay.Constant))
        assert not any(analysis.check_constant(e) for e in nodes(folded[var]) if isinstance(e, (relay.Call, relay.Var)))


def well_formed_stays(mod):
    for made in (mod, relay.transform.ToANormalForm()(mod), relay.transform.ToBasicBlockNormalForm()(mod)):
        assert analysis.well_formed(made) and analysis.verify(made) == []
    assert all(analysis.check_basic_block_normal_form(made[var]) for var in made.get_global_vars())


def kinds_are_types(mod):
    for var in mod.get_global_vars():
        assert analysis.check_kind(mod[var].checked_type, mod) == relay.TypeKind.Type


def fused_functions_are_kernels(mod):
    fused = relay.transform.InferType()(relay.transform.FuseOps()(relay.transform.InferType()(mod)))
    found = analysis.extract_fused_functions(fused).values()
    assert all(f.attrs is not None and int(f.attrs["Primitive"]) == 1 for f in found)
    inside = sum(len(calls(relay.IRModule({relay.GlobalVar("main"): f}))) for f in found)
    assert inside <= len(calls(fused))


def intermediate_ends_where_asked(mod):
    results = [e for e in nodes(mod["main"].body) if isinstance(e, (relay.Call, relay.Tuple, relay.TupleGetItem))]
    for extract in (analysis.extract_intermediate_expr, analysis.extract_intermdeiate_expr):
        for at, node in enumerate(results):
            part = extract(mod, at)
            assert part["main"].body.same_as(node) and not analysis.free_vars(part["main"])
        with pytest.raises(IndexError):
            extract(mod, len(results))


def call_graph_knows_callers(mod):
    graph = analysis.CallGraph(mod)
    callers = {}
    for var in mod.get_global_vars():
        for e in nodes(mod[var]):
            if isinstance(e, relay.Call) and isinstance(e.op, relay.GlobalVar):
                callers.setdefault(e.op.name_hint, set()).add(var.name_hint)
    for var in mod.get_global_vars():
        name = var.name_hint
        assert graph.is_recursive(var) or name not in callers.get(name, set())
        assert graph.ref_count(var) > 0 or not callers.get(name, set()) - {name}
    assert ("sum" not in callers) or graph.is_recursive(mod.get_global_var("sum"))


def matches_cover(mod):
    for e in nodes(mod["main"]):
        if isinstance(e, relay.Match):
            assert list(analysis.unmatched_cases(e, mod)) == []
            assert len(analysis.unmatched_cases(relay.Match(e.data, list(e.clauses)[:-1], complete=False), mod)) == 1


def nothing_of_the_kind(mod):
    assert dict(analysis.list_fake_quantized_op_freqs(mod)) == {}
    assert list(analysis.search_fc_transpose(mod["main"])) == []
    assert len(analysis.AnnotatedRegionSet(mod["main"], relay.op.get("annotation.compiler_begin"), relay.op.get("annotation.compiler_end"))) == 0


def nothing_goes_out(mod):
    types = {param.name_hint: param.checked_type for param in mod["main"].params}
    if all(isinstance(kind, relay.TensorType) for kind in types.values()):
        data = {name: np.ones([int(extent) for extent in kind.shape], str(kind.dtype)) for name, kind in types.items()}
        assert analysis.get_calibration_data(mod, data) == {}


PROPERTIES = {
    variables_agree: ("free_vars", "bound_vars", "all_vars"),
    type_variables_agree: ("free_type_vars", "bound_type_vars", "all_type_vars"),
    each_node_once: ("post_order_visit",),
    frequencies_count_calls: ("list_op_freqs",),
    layers_are_calls: ("count_layers", "LayerCounter"),
    macs_are_of_products: ("get_total_mac_number",),
    features_are_there: ("detect_feature", "Feature"),
    dtypes_are_of_types: ("all_dtypes",),
    constants_are_constants: ("check_constant",),
    well_formed_stays: ("well_formed", "verify", "check_basic_block_normal_form"),
    kinds_are_types: ("check_kind",),
    fused_functions_are_kernels: ("extract_fused_functions",),
    intermediate_ends_where_asked: ("extract_intermediate_expr", "extract_intermdeiate_expr"),
    call_graph_knows_callers: ("CallGraph",),
    matches_cover: ("unmatched_cases",),
    nothing_of_the_kind: ("list_fake_quantized_op_freqs", "search_fc_transpose", "AnnotatedRegionSet", "AnnotatedRegion"),
    nothing_goes_out: ("get_calibration_data",),
}


@pytest.mark.parametrize("holds", PROPERTIES, ids=[holds.__name__ for holds in PROPERTIES])
def test_property(holds, module):
    holds(module)


def written_page():
    spec = importlib.util.spec_from_file_location("analyses_page", ROOT / "scripts/docs/analyses_page.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made.page()


def test_the_page_is_current():
    assert (ROOT / "docs/analyses.md").read_text() == written_page(), "make docs writes docs/analyses.md"


@pytest.mark.parametrize("name", NAMES)
def test_analysis(name):
    thing = getattr(analysis, name)
    assert name == "Feature" or inspect.getdoc(thing), "it says nothing of itself"
    assert f"\n## {name}\n" in (ROOT / "docs/analyses.md").read_text(), "it has no section in docs/analyses.md"
    key = OTHER_NAMES.get(name, name)
    if name in TESTED_IN:
        file = ROOT / TESTED_IN[name]
        assert re.search(rf"\b{key}\b", file.read_text()), f"{file.name} does not test it"
    else:
        assert any(recorded.split("/")[0] == key for recorded in RECORDED), "no recorded case is of it"
    assert any(name in names for names in PROPERTIES.values()), "no property is of it"
    made = getattr(tvm.relay.analysis, name)
    assert "is not there" not in repr(made) and "which is not here" not in repr(made)


@pytest.mark.parametrize("name", SPARSE)
def test_lists_of_sparse_weights(name):
    assert inspect.getdoc(getattr(sparse, name))
    assert f"\n## {name}\n" in (ROOT / "docs/analyses.md").read_text()
    assert "process_params" in (ROOT / "tests/conformance/python/tvm_sparse_test.py").read_text()


def test_exceptions_are_needed():
    surface = next(line for line in (ROOT / "python/tvm/_names.tsv").read_text().splitlines() if line.startswith("tvm.relay.analysis\t"))
    for name in NAMES:
        assert (re.search(rf"\b{name}\b", surface) is None) == (name in NOT_IN_TVM) or name == "LayerCounter", name
    for name, file in TESTED_IN.items():
        assert not any(recorded.split("/")[0] == name for recorded in RECORDED), f"{name} has recorded cases of its own"
        assert (ROOT / file).exists()
