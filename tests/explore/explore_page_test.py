"""What a person does with the page of `relay explore`: each feature by clicks and keys in headless Chromium."""

import re

import conftest
import pytest

ITEM = """label => {
  const graph = relay.graph, stage = graph.stage;
  const item = graph.current.layout.items.find(each => each.title === label);
  if (!item) return null;
  graph.canvas.centre(item);
  return graph.canvas.middleOf(item);
}"""


def point_at(page, label):
    """Where a node or box with this label is on the screen; the graph moves so that it is there."""
    at = page.evaluate(ITEM, label)
    assert at is not None, label
    page.wait_for_function("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
    box = page.locator("#graph").bounding_box()
    return box["x"] + at["x"], box["y"] + at["y"]


def selected(page):
    return page.locator("#selected-label").inner_text()


def text_of(page, selector):
    return page.locator(selector).all_inner_texts()


@pytest.fixture
def page(open_page, folder):
    return open_page(folder / "small.html")


def test_pipeline_lists_passes_with_nodes_and_rules(page):
    passes = text_of(page, "#pipeline li.stage b")
    assert passes[0] == "program" and "SimplifyExpr" in passes and "executable" in passes and "CanonicalizeOps" not in passes
    simplify = page.locator("#pipeline li.stage", has_text="SimplifyExpr")
    assert re.search(r"\d+ → \d+ \(-\d+\)", simplify.inner_text()) and "s" in simplify.locator(".ms").inner_text()
    simplify.locator("summary").click()
    assert "multiply by one" in simplify.locator("details").inner_text()
    page.click("#every-pass")
    assert "CanonicalizeOps" in text_of(page, "#pipeline li.stage b")


def test_a_pass_opens_as_a_difference(page):
    page.click("#tab-diff")
    page.click("#pipeline li.stage:has-text('SimplifyExpr') button")
    assert text_of(page, "#pane-before .row.removed code") == ["  %1 = multiply(%0, 1f);"]
    assert page.locator("#pane-after .row.added").count() == 0
    assert page.locator("#diff-summary").inner_text() == "1 line removed, 0 added"
    few = page.locator("#pane-after .row").count()
    page.click("#whole-text")
    assert page.locator("#pane-after .row").count() > few


def test_a_pass_opens_as_a_graph(page):
    page.click("#pipeline li.stage:has-text('SimplifyExpr') button")
    titles = page.evaluate("relay.graph.current.layout.items.map(item => item.title)")
    assert "nn.dense" in titles and "multiply" not in titles
    assert page.evaluate("relay.graph.current.layout.lines.some(line => line.type === '8×16 float32')")


def test_a_click_on_a_node_selects_it_everywhere(page):
    page.mouse.click(*point_at(page, "nn.softmax"))
    assert selected(page) == "nn.softmax"
    everywhere = dict(zip(text_of(page, "#everywhere button"), text_of(page, "#everywhere small"), strict=True))
    assert everywhere["SimplifyExpr"] == "nn.softmax" and "softmax" in everywhere["composed"] and "softmax" in everywhere["executable"]
    page.click("#tab-text")
    assert text_of(page, "#pane-source mark") == ["nn.softmax(%b + exp(%x))"]
    assert "nn.softmax" in page.locator("#pane-stage .row.marked").inner_text()
    page.click("#everywhere button:text-is('executable')")
    assert "softmax" in page.locator("#pane-stage .row.marked").inner_text()
    page.click("#tab-code")
    assert "softmax" in page.locator("#kernel-list .chosen.mine").inner_text()
    assert "for " in page.locator("#pane-loops .rows").inner_text() and ".text" in page.locator("#pane-assembly .rows").inner_text()


def test_source_assembly_and_loops_lead_back(page):
    page.click("#tab-text")
    page.locator("#pane-source .row", has_text="exp(%x)").locator("span", has_text="%x").last.click()
    assert selected(page) == "exp"
    page.locator("#pane-stage .row", has_text="nn.dense(%x, %w)").locator("code").click(position={"x": 70, "y": 8})
    assert selected(page) == "nn.dense"
    page.click("#tab-code")
    for pane in ("#pane-assembly", "#pane-loops"):
        page.locator("#kernel-list li", has_text="softmax").locator("button").click()
        assert "softmax" in selected(page)
        page.keyboard.press("Escape")
        page.locator(f"{pane} .row").nth(3).click()
        assert "softmax" in selected(page) and text_of(page, "#everywhere small")[0] == "exp and 2 more"


def click_row(page, pane, row, text=None):
    """Clicks a row of a pane, which scrolls there first: on a piece of its text, or where it begins."""
    page.evaluate("([pane, row]) => { document.querySelector(`#pane-${pane} .scroller`).scrollTop = Math.max(0, row - 3) * 18; }", [pane, row])
    code = page.locator(f"#pane-{pane} .row[data-row='{row}'] code")
    code.wait_for()
    box = code.evaluate(
        """(code, text) => {
          let at = text === null ? code.textContent.search(/\\S/) : code.textContent.indexOf(text);
          const walk = document.createTreeWalker(code, NodeFilter.SHOW_TEXT), range = document.createRange();
          let node = walk.nextNode();
          while (at >= node.length) { at -= node.length; node = walk.nextNode(); }
          range.setStart(node, at);
          range.setEnd(node, at + 1);
          const pane = code.closest(".scroller");
          pane.scrollLeft += Math.max(0, range.getBoundingClientRect().right + 30 - pane.getBoundingClientRect().right);
          const box = range.getBoundingClientRect();
          return { x: box.x + box.width * 0.6, y: box.y + box.height / 2 };
        }""",
        text,
    )
    page.mouse.click(box["x"], box["y"])


def row_with(page, lines, text):
    """The first line of the chosen kernel's loops or assembly with this text."""
    return page.evaluate(
        """([lines, text]) => {
          const { raw } = relay.app.model, kernel = Number(document.querySelector("#kernel-list .chosen").dataset.kernel);
          return raw.kernels[kernel][lines].findIndex((line) => new RegExp(text).test(raw.texts[line]));
        }""",
        [lines, text],
    )


def test_an_operator_of_a_fused_kernel_has_its_lines(page):
    marked = {}
    for name in ("exp", "add", "nn.softmax"):
        page.click("#tab-graph")
        page.mouse.click(*point_at(page, name))
        page.click("#tab-code")
        assert "softmax" in page.locator("#kernel-list .chosen.mine").inner_text()
        page.locator("#pane-assembly .row.marked").first.wait_for()
        marked[name] = {"loops": text_of(page, "#pane-loops .row.marked mark"), "assembly": text_of(page, "#pane-assembly .row.marked i")}
    assert marked["exp"]["loops"] and all(text.startswith("exp(b") for text in marked["exp"]["loops"])
    assert any(text.endswith(" + ") for text in marked["add"]["loops"])
    assert any(" max= " in text for text in marked["nn.softmax"]["loops"])
    assert not set(marked["exp"]["assembly"]) & set(marked["add"]["assembly"]) and not set(marked["add"]["assembly"]) & set(marked["nn.softmax"]["assembly"])
    page.keyboard.press("Escape")
    assert page.locator("#pane-loops .row.marked").count() == page.locator("#pane-assembly .row.marked").count() == 0


def test_a_line_of_a_fused_kernel_leads_to_its_operator(page):
    page.click("#tab-code")
    page.locator("#kernel-list li", has_text="softmax").locator("button").click()
    assert "softmax" in selected(page) and page.locator("#pane-loops .row.marked").count() == 0
    line = row_with(page, "loops", r" \+ exp\(b")
    click_row(page, "loops", line, "exp(b")
    assert selected(page) == "exp" and "of=0" in page.url
    click_row(page, "loops", line, " + exp(b")
    assert selected(page) == "add"
    click_row(page, "loops", row_with(page, "loops", "max="))
    assert selected(page) == "nn.softmax"
    page.keyboard.press("Escape")
    click_row(page, "assembly", row_with(page, "assembly", r"^\tv?divps"))
    assert selected(page) == "nn.softmax"
    page.click("#tab-text")
    assert text_of(page, "#pane-source mark") == ["nn.softmax(%b + exp(%x))"]
    page.click("#tab-code")
    assert "softmax" in page.locator("#kernel-list .chosen").inner_text()


def test_functions_fold_and_unfold(page):
    before = page.evaluate("relay.graph.current.layout.items.length")
    x, y = point_at(page, "@layer")
    corner = page.evaluate("(() => { const g = relay.graph, i = g.current.layout.items.find(e => e.title === '@layer' && e.node < 0), v = g.canvas.view; return [(i.x + 9 - v.x) * v.scale, (i.y + 11 - v.y) * v.scale]; })()")  # fmt: skip
    box = page.locator("#graph").bounding_box()
    page.mouse.click(box["x"] + corner[0], box["y"] + corner[1])
    folded = page.evaluate("relay.graph.current.layout.items.length")
    assert folded < before and "folds=" in page.url
    page.click("#unfold")
    assert page.evaluate("relay.graph.current.layout.items.length") == before
    page.click("#fold")
    assert page.evaluate("relay.graph.current.layout.items.length") == 2


def test_pan_and_zoom(page):
    box = page.locator("#graph").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = page.evaluate("relay.graph.canvas.view")
    page.mouse.move(x, y)
    page.mouse.wheel(0, -240)
    page.wait_for_function("scale => relay.graph.canvas.view.scale > scale", arg=before["scale"])
    zoomed = page.evaluate("relay.graph.canvas.view")
    page.mouse.move(box["x"] + 20, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 80, y + 30)
    page.mouse.up()
    moved = page.evaluate("relay.graph.canvas.view")
    assert moved["x"] < zoomed["x"] and moved["y"] < zoomed["y"] and moved["scale"] == zoomed["scale"]


def test_values_and_types_on_hover(page):
    page.mouse.move(*point_at(page, "nn.softmax"))
    tip = page.locator("#tip")
    tip.wait_for(state="visible")
    assert "Tensor[(8, 16), float32]" in tip.inner_text() and re.search(r"mean 0\.0625", tip.inner_text())


def test_values_in_functions_on_hover(page):
    page.mouse.move(*point_at(page, "nn.dense"))
    tip = page.locator("#tip")
    tip.wait_for(state="visible")
    assert re.search(r"mean .* ± ", tip.inner_text()) and "the last of 2 times" in tip.inner_text()


def test_search(page):
    page.keyboard.press("/")
    page.keyboard.type("soft")
    assert page.locator("#search-count").inner_text() == "1 found"
    page.keyboard.press("Enter")
    assert selected(page) == "nn.softmax"


def test_heat(page):
    for heat in ("time", "memory", "peak"):
        page.select_option("#heat", heat)
        most = page.locator("#hottest").inner_text()
        assert re.search({"time": "s$", "memory": "kB$|B$", "peak": "% of the peak"}[heat], most)
        assert page.evaluate("Math.max(...relay.app.heatOf(relay.graph.stage).values)") > 0


def test_memory_plan(page):
    page.click("#tab-memory")
    assert re.search(r"tensors share .*; apart they would take", page.locator("#memory-summary").inner_text())
    assert page.evaluate("(() => { const c = document.getElementById('memory-plan'); return c.width > 100 && c.height > 100; })()")


def test_tables_of_values(page):
    page.click("#tab-values")
    page.locator("#values button", has_text="exp").first.click()
    assert selected(page) == "exp"
    assert page.locator("#inspector .histogram span").count() > 3


def test_a_link_brings_another_person_to_the_same_place(page, open_page, folder):
    page.mouse.click(*point_at(page, "exp"))
    page.click("#tab-text")
    page.click("#pipeline li.stage:has-text('FuseOps') button")
    other = open_page(folder / "small.html", "#" + page.url.split("#")[1])
    assert selected(other) == "exp" and other.locator("#pipeline .chosen b").inner_text() == "FuseOps"
    assert text_of(other, "#pane-source mark") == ["exp(%x)"]


@pytest.mark.parametrize("place", ["#tab=none&stage=999999&node=5&of=77", "#node=99999999&of=0&kernel=12345", "#tab=compare&folds=%3Cb%3E&theme=x", "#stage=-1&&=&%"])
def test_wrong_links_show_the_page(open_page, folder, place):
    opened = open_page(folder / "small.html", place)
    assert opened.locator("#pipeline li.stage").count() > 3


def test_keys(page):
    page.keyboard.press("2")
    assert page.locator("#tab-diff").get_attribute("aria-selected") == "true"
    first = page.locator("#pipeline .chosen b").inner_text()
    page.keyboard.press("j")
    assert page.locator("#pipeline .chosen b").inner_text() != first
    page.keyboard.press("k")
    assert page.locator("#pipeline .chosen b").inner_text() == first
    page.keyboard.press("1")
    page.mouse.click(*point_at(page, "nn.softmax"))
    page.keyboard.press("ArrowUp")
    assert selected(page) == "add"
    page.keyboard.press("ArrowDown")
    assert selected(page) == "nn.softmax"
    page.keyboard.press("h")
    assert page.locator("#heat").input_value() == "time"
    page.keyboard.press("Escape")
    assert page.locator("#selected-label").count() == 0
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()


def test_light_and_dark(page, open_page, folder):
    back = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(back) == "rgb(247, 248, 250)"
    page.click("#theme")
    assert page.evaluate(back) == "rgb(18, 22, 29)"
    assert open_page(folder / "small.html", color_scheme="dark").evaluate(back) == "rgb(18, 22, 29)"


def test_two_models_side_by_side(open_page, folder):
    (folder / "other.rly").write_text(conftest.PROGRAM.replace("exp(", "tanh("))
    conftest.export(folder / "two.html", folder / "small.rly", "--with", folder / "other.rly")
    page = open_page(folder / "two.html", "#tab=compare&stage=0&pairs=list")
    assert page.locator("#compare-count").inner_text().startswith("1 of ")
    assert "exp" in page.locator("#pane-left-model .row.removed").inner_text()
    assert "tanh" in page.locator("#pane-right-model .row.added").inner_text()
    page.click("#next-difference")
    assert selected(page) == "exp"


def test_two_models_as_graphs_on_canvases(open_page, folder):
    text = conftest.PROGRAM.replace("exp(", "tanh(").replace("* 1f", "- 1f")
    (folder / "graphs.rly").write_text(text)
    conftest.export(folder / "graphs.html", folder / "small.rly", "--with", folder / "graphs.rly")
    page = open_page(folder / "graphs.html", "#tab=compare&stage=0")
    coloured = "[relay.compare.leftGraph, relay.compare.rightGraph].map(graph => graph.coloured.sort())"
    assert page.evaluate(coloured) == [["exp", "multiply"], ["subtract", "tanh"]]
    at = """([side, label]) => {
      const graph = relay.compare[side], item = graph.layout.items.find(each => each.title === label);
      graph.canvas.centre(item);
      return graph.canvas.middleOf(item);
    }"""
    for side, canvas, label in (("leftGraph", "#graph-left", "exp"), ("rightGraph", "#graph-right", "subtract")):
        where = page.evaluate(at, [side, label])
        page.wait_for_function("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
        box = page.locator(canvas).bounding_box()
        page.mouse.click(box["x"] + where["x"], box["y"] + where["y"])
        assert selected(page) == {"exp": "exp", "subtract": "multiply"}[label]  # of the first model
    page.keyboard.press("n")
    assert selected(page) == "exp"
    page.click("#compare-form")
    assert "pairs=list" in page.url and page.locator("#pane-left-model .row.removed").count() == 2
    page.click("#compare-form")
    assert page.evaluate(coloured) == [["exp", "multiply"], ["subtract", "tanh"]]


def test_names_of_programs_are_text(open_page, folder):
    name = '%"<img src=x onerror=document.title=1>"'
    (folder / "hostile.rly").write_text(f'def @main({name}: Tensor[(2), float32]) {{ let %"</script><b id=evil>" = exp({name}); %"</script><b id=evil>" + {name} }}')
    conftest.export(folder / "hostile.html", folder / "hostile.rly")
    page = open_page(folder / "hostile.html", "#tab=text&stage=0")
    for tab in ("text", "diff", "code", "memory", "values", "graph"):
        page.click(f"#tab-{tab}")
    page.keyboard.press("/")
    page.keyboard.type("img")
    page.keyboard.press("Enter")
    assert "<img src=x" in selected(page)
    assert page.locator("img, #evil").count() == 0 and page.title() == "hostile.rly · relay"


def test_a_graph_of_thousands_of_nodes_folds_into_parts(open_page, folder):
    lines = [f"  %{i} = {'tanh' if i % 3 else 'exp'}(%{i - 1});" for i in range(1, 3000)]
    (folder / "many.rly").write_text("\n".join(["def @main(%x: Tensor[(4), float32]) {", "  %0 = exp(%x);", *lines, "  nn.relu(%2999)", "}"]))
    conftest.export(folder / "many.html", folder / "many.rly", "--no-run", "--opt-level", "0")
    page = open_page(folder / "many.html", "#stage=0")
    assert page.evaluate("relay.graph.current.layout.items.length") < 400
    page.keyboard.press("u")
    assert page.evaluate("relay.graph.current.layout.items.length") > 3000
