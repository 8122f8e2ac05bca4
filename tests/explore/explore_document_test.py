"""The document and the server of `relay explore`, without a browser."""

import http.client
import re
import signal
import subprocess

import conftest
import numpy
import pytest

RELAY = conftest.RELAY


@pytest.fixture(scope="module")
def small(folder):
    return conftest.document(folder / "small.json", folder / "small.rly")


def stage(document, name):
    return next(each for each in document["stages"] if each["name"] == name and "nodes" in each)


def labels(document, stage):
    return [document["texts"][label] for label in stage["nodes"]["label"]]


def test_stages_count_nodes_and_rules(small):
    names = [each["name"] for each in small["stages"]]
    assert names[0] == "program" and names[-1] == "executable" and "composed" in names
    simplify = stage(small, "SimplifyExpr")
    assert simplify["changed"] and simplify["after"] < simplify["before"] and simplify["ms"] > 0
    assert "multiply by one" in {small["texts"][rule] for rule, _ in simplify["fired"]}
    assert simplify["firings"] == len(simplify["fired"])
    assert all("nodes" not in each for each in small["stages"] if not each["changed"])


def test_nodes_have_their_line_of_text_and_their_place_in_the_source(small):
    first = small["stages"][0]
    nodes = first["nodes"]
    at = labels(small, first).index("nn.softmax")
    assert "nn.softmax(" in small["texts"][first["lines"][nodes["line"][at]]]
    source, begin, length = small["places"][nodes["place"][at]]
    assert small["sources"][source]["text"].encode()[begin : begin + length] == b"nn.softmax(%b + exp(%x))"
    assert small["texts"][nodes["type"][at]] == "Tensor[(8, 16), float32]"


def test_launches_stand_for_nodes_of_the_program(small):
    launches = small["stages"][-1]["nodes"]
    softmax = small["stages"][0]["nodes"]["place"][labels(small, small["stages"][0]).index("nn.softmax")]
    (found,) = [i for i, origins in enumerate(launches["origins"]) if softmax in origins or launches["place"][i] == softmax]
    kernel = small["kernels"][launches["kernel"][found]]
    assert "softmax" in kernel["name"] and kernel["loops"] and kernel["assembly"] and kernel["calls"] >= 1
    assert len(small["profile"]["launches"]) == sum(each >= 0 for each in launches["kernel"])


def pieces(document, kernel):
    """Of the loops of a kernel: the text of each piece, and the operator that it belongs to."""
    for line, runs in zip(kernel["loops"], kernel["loop_operators"], strict=True):
        text, at = document["texts"][line].encode(), 0
        for length, operator in zip(runs[::2], runs[1::2], strict=True):
            yield text[at : at + length].decode(), operator
            at += length
        assert at == len(text) or not runs


def operators(document, kernel_name):
    """The kernel of that name, and the source of its operators by their numbers."""
    launches = document["stages"][-1]["nodes"]
    (launch,) = [i for i, kernel in enumerate(launches["kernel"]) if kernel >= 0 and kernel_name in document["kernels"][kernel]["name"]]
    source = {}
    for number, place in enumerate(launches["origins"][launch], 1):
        of, begin, length = document["places"][place]
        source[number] = document["sources"][of]["text"].encode()[begin : begin + length].decode()
    return document["kernels"][launches["kernel"][launch]], source


def test_pieces_of_loops_belong_to_operators_of_a_fused_kernel(small):
    kernel, source = operators(small, "softmax")
    assert sorted(source.values()) == ["%b + exp(%x)", "exp(%x)", "nn.softmax(%b + exp(%x))"]
    found = {text: [] for text in source.values()}
    for piece, operator in pieces(small, kernel):
        if operator > 0:
            found[source[operator]].append(piece)
    assert found["exp(%x)"] and all(piece.startswith("exp(b") for piece in found["exp(%x)"])
    assert any(piece.endswith(" + ") for piece in found["%b + exp(%x)"])
    softmax = "".join(found["nn.softmax(%b + exp(%x))"])
    assert " max= " in softmax and " += " in softmax and " / " in softmax and softmax.count("exp(") == 1


def test_lines_of_assembly_belong_to_operators_of_a_fused_kernel(small):
    kernel, source = operators(small, "softmax")
    runs = kernel["assembly_operators"]
    assert sum(runs[::2]) == len(kernel["assembly"]) and set(runs[1::2]) == {0, *source}
    line, divisions = 0, set()
    for count, operator in zip(runs[::2], runs[1::2], strict=True):
        divisions |= {operator for each in kernel["assembly"][line : line + count] if re.match(r"\tv?div[ps]s", small["texts"][each])}
        line += count
    assert "nn.softmax(%b + exp(%x))" in {source[operator] for operator in divisions}
    assert not any(re.match(r"\t\.(loc\b|file\t\d|cfi_)", small["texts"][each]) for each in kernel["assembly"])


def test_operators_of_a_sum_of_products_and_what_follows(small):
    kernel, source = operators(small, "dense")
    found = {source[operator]: piece for piece, operator in pieces(small, kernel) if operator > 0}
    assert "nn.dense(%x, %w)" in found and "nn.relu(%h * 1f)" in found


LOOP = """\
def @loop(%i: int32, %y: Tensor[(3), float32]) -> Tensor[(3), float32] {
  if (%i == 0) { %y } else { @loop(%i - 1, tanh(%y) * 0.5f) }
}
def @main(%i: int32, %y: Tensor[(3), float32]) { @loop(%i, %y) }
"""
KERNELS = """\
def @main(%x: Tensor[(8, 64), float32], %w: Tensor[(32, 64), float32], %b: Tensor[(32), float32], %k: Tensor[(n), int32], %i: int32) {
  let %dense = nn.relu(nn.bias_add(nn.dense(%x, %w), %b));
  let %fold = sqrt(sum(exp(%x), axis=[1]));
  let %turned = tanh(transpose(exp(%w)));
  let %scan = cumsum(abs(%x), axis=1);
  let %pool = nn.relu(nn.max_pool2d(reshape(%x, newshape=[1, 1, 8, 64]), pool_size=[2, 2]));
  let %taken = take(%b, mod(%k, %i), axis=0) + 1f;
  (%dense, %fold, %turned, %scan, %pool, %taken)
}
"""


@pytest.mark.parametrize("target", ["baseline", "avx2", "avx512"])
def test_places_change_nothing_of_the_code(folder, target):
    """Assembly is that which nobody asked about operators, and each number is an operator's of the launch."""
    (folder / "kernels.rly").write_text(KERNELS)
    document = conftest.document(folder / "kernels.json", folder / "kernels.rly", "--no-run", "--target", target)
    command = [RELAY, "opt", "--emit=asm", "--target", target, folder / "kernels.rly"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    wanted = sorted(re.split(r"^# .*\n", text, flags=re.M)[1:])
    lines = document["texts"]
    found = sorted("".join(lines[line] + "\n" for line in kernel["assembly"]) for kernel in document["kernels"] if kernel["assembly"])
    assert [each.strip() for each in found] == [each.strip() for each in wanted] and len(found) >= 6
    launches = document["stages"][-1]["nodes"]
    for origins, number in zip(launches["origins"], launches["kernel"], strict=True):
        if number < 0:
            continue
        kernel = document["kernels"][number]
        used = {operator for runs in kernel["loop_operators"] for operator in runs[1::2]} | set(kernel["assembly_operators"][1::2])
        assert used <= set(range(len(origins) + 1)), kernel["name"]
        assert not kernel["loops"] or used - {0}, kernel["name"]


def test_loops_in_native_code_have_operators(folder):
    (folder / "loop.rly").write_text(LOOP)
    document = conftest.document(folder / "loop.json", folder / "loop.rly", "--no-run")
    kernel, source = operators(document, "loop")
    found = {source[operator]: piece for piece, operator in pieces(document, kernel) if operator > 0}
    assert "tanh(v" in found["tanh(%y)"] and " * 0.5f" in found["tanh(%y) * 0.5f"]


def test_values_are_those_of_a_run(folder):
    (folder / "sum.rly").write_text("def @main(%x: Tensor[(2, 2), float32]) { let %y = %x + 1f; sum(%y * 2f) }")
    document = conftest.document(folder / "sum.json", folder / "sum.rly", "--arg", "[[1, 2], [3, 4]]")
    names = labels(document, document["stages"][0])
    values = {names[node]: statistics for node, statistics, _ in document["values"]}
    assert values["add"]["first"] == ["2.0", "3.0", "4.0", "5.0"] and values["add"]["mean"] == 3.5
    assert values["multiply"]["max"] == 10 and not document["made_up"]


def test_values_in_functions_and_branches(folder):
    program = """\
def @half(%x: Tensor[(2), float32]) { if (sum(%x) > 1f) { @half(%x * 0.5f) } else { tanh(%x) } }
def @main(%x: Tensor[(2), float32]) { let %y = exp(@half(%x)); %y + 1f }
"""
    (folder / "inner.rly").write_text(program)
    document = conftest.document(folder / "inner.json", folder / "inner.rly", "--arg", "[4, 4]")
    names = labels(document, document["stages"][0])
    values = {names[node]: (statistics, times) for node, statistics, times in document["values"]}
    statistics, times = values["multiply"]
    assert statistics["first"] == ["0.5", "0.5"] and times == 3  # 4, 2 and 1 are halved
    assert values["tanh"][1] == 1 and values["greater"][1] == 4
    assert values["exp"][1] == 1


def test_values_of_programs_with_effects(folder):
    (folder / "ref.rly").write_text("def @main(%x: Tensor[(2), float32]) { let %r = ref(%x); ref_write(%r, ref_read(%r) * 3f); tanh(ref_read(%r)) }")
    document = conftest.document(folder / "ref.json", folder / "ref.rly", "--arg", "[1, 2]")
    names = labels(document, document["stages"][0])
    assert {names[node]: statistics["max"] for node, statistics, _ in document["values"]}["multiply"] == 6


def test_statistics_of_constants(folder):
    numpy.savez(folder / "w.npz", w=numpy.array([0, 1, 2, 3, 4, 5, 6, numpy.inf], "float32"))
    (folder / "w.rly").write_text("def @main(%x: Tensor[(8), float32], %w: Tensor[(8), float32]) { %x + %w }")
    document = conftest.document(folder / "w.json", folder / "w.rly", "--params", folder / "w.npz")
    found = document["constants"][0]
    assert (found["min"], found["max"], found["mean"], found["zeros"], found["bad"]) == (0, 6, 3, 1, 1)
    assert sum(found["histogram"]) == 7 and found["first"][-1] == "inf"


def test_memory_is_planned_for_made_up_sizes(folder):
    (folder / "open.rly").write_text("def @main(%x: Tensor[(n, 16), float32]) { nn.softmax(sort(nn.softmax(%x))) }")
    document = conftest.document(folder / "open.json", folder / "open.rly")
    assert document["made_up"] and document["memory"][0]["planned"] and document["memory"][0]["places"]


def test_a_program_that_cannot_run_is_shown_all_the_same(folder):
    (folder / "end.rly").write_text("def @f(%x: int32) -> int32 { @f(%x) }\ndef @main(%x: int32) { @f(%x) }")
    document = conftest.document(folder / "end.json", folder / "end.rly", "--run-seconds", "0.2")
    assert "profile" not in document and "more than 0.2 s" in document["notes"][0]


def test_no_run(folder):
    document = conftest.document(folder / "still.json", folder / "small.rly", "--no-run")
    assert "profile" not in document and "values" not in document and document["notes"] == []


def test_compiled_models_have_launches_and_a_profile(folder):
    subprocess.run([RELAY, "compile", folder / "small.rly", "-o", folder / "small.rlx"], check=True, timeout=300)
    document = conftest.document(folder / "rlx.json", folder / "small.rlx")
    assert [each["name"] for each in document["stages"]] == ["executable"]
    assert document["profile"]["ms"] > 0 and any("softmax" in each["text"] for each in document["sources"])


def test_the_page_is_one_file_that_names_no_host(folder):
    text = (folder / "small.html").read_text()
    assert "default-src 'none'" in text
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", text)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{small}", "--format", "json"], 2, "--format json goes to --output"),
        (["{small}", "--format", "json", "--with", "{small}", "--output", "-"], 2, "--format json is one document"),
        (["{small}", "--output", "{small}"], 1, "small.rly"),
        (["{small}", "--port", "99999"], 2, "--port"),
        (["missing.rly", "--output", "-"], 1, "missing.rly"),
    ],
)
def test_refusals(folder, arguments, code, message):
    words = [word.format(small=folder / "small.rly") for word in arguments]
    done = subprocess.run([RELAY, "explore", *words], capture_output=True, text=True, timeout=120, cwd=folder)
    assert done.returncode == code and message in done.stderr, done.stderr
    assert (folder / "small.rly").read_text() == conftest.PROGRAM


@pytest.fixture
def served(folder):
    process = subprocess.Popen([RELAY, "explore", folder / "small.rly", "--no-run"], stdout=subprocess.PIPE, text=True)
    address = process.stdout.readline().strip()
    yield process, re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32})", address), address
    process.kill()
    process.wait(60)


def ask(port, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response, text


def test_the_server_gives_the_page_to_who_has_the_address(served):
    process, address, _ = served
    port, token = int(address[1]), address[2]
    response, text = ask(port, f"/?token={token}")
    assert response.status == 200 and b"application/x-relay" in text and response.headers["Cache-Control"] == "no-store"
    for path, method, headers in [
        ("/", "GET", {}), ("/?token=" + "0" * 32, "GET", {}), (f"/?token={token}", "POST", {}), (f"/?token={token}x", "GET", {}),
        (f"/?token={token}", "GET", {"Host": "evil.example"}), (f"/?token={token}", "GET", {"Host": f"evil.example:{port}"}),
    ]:  # fmt: skip
        response, text = ask(port, path, method, **headers)
        assert response.status == 403 and b"application/x-relay" not in text
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0


def test_a_taken_port_is_an_error(served, folder):
    _, address, _ = served
    done = subprocess.run([RELAY, "explore", folder / "small.rly", "--no-run", "--port", address[1]], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and f"cannot take port {address[1]} of the loopback" in done.stderr


def test_the_page_is_made_of_its_sources():
    done = subprocess.run(["scripts/explore_page.py", "--check"], capture_output=True, text=True, timeout=300)
    if "install" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
