// Views of text: source and stage, differences, loops and assembly. A click on a line selects what it says.
import { App } from "./app";
import { pieces, Stage } from "./document";
import { diff, plain, Row } from "./diff";
import { element, milliseconds, replace } from "./dom";
import { Cell, TextPane, TextSource } from "./textview";

const same = (text: string, number: string): Cell => ({ text, kind: "", number });

/** The node of a line that a column means: the first that ends behind it, else the last. */
function nodeAt(stage: Stage, line: number, column: number): number {
  const nodes = stage.onLine(line);
  if (nodes.length === 0) return -1;
  return nodes.find((node) => stage.nodes.column[node] >= column && stage.kind(node) !== "Var" && stage.kind(node) !== "Constant") ?? nodes[nodes.length - 1];
}

function stageSource(app: App, stage: Stage): TextSource {
  const lines = new Set(app.selectedIn(stage).map((node) => stage.nodes.line[node]));
  return {
    count: stage.lines.length,
    row: (i) => same(stage.line(i), String(i + 1)),
    marked: (i) => lines.has(i),
    click: (i, column) => { const node = nodeAt(stage, i, column); if (node >= 0) app.select(stage, node); },
  };
}

function firstLine(app: App, stage: Stage): number {
  for (const node of app.selectedIn(stage)) if (stage.nodes.line[node] >= 0) return stage.nodes.line[node];
  return -1;
}

/** Source beside the shown stage. */
export class TextView {
  readonly root = element("div", { class: "panes", id: "view-text" });
  private readonly source = new TextPane("source", "Source");
  private readonly stage = new TextPane("stage", "Stage");
  private readonly choose = element("select", { id: "choose-source", title: "Which source" });
  private chosen = 0;
  private readonly split: string[][] = [];
  constructor(private readonly app: App) {
    app.model.raw.sources.forEach((source, i) => { const option = element("option", {}, source.name); option.value = String(i); this.choose.append(option); });
    this.choose.addEventListener("change", () => { this.chosen = Number(this.choose.value); this.draw(false); });
    if (app.model.raw.sources.length > 1) this.source.root.prepend(this.choose);
    this.root.append(this.source.root, this.stage.root);
  }
  draw(follow = true): void {
    const { app } = this;
    const stage = app.stage;
    this.stage.title(stage.raw.name);
    this.stage.show(stageSource(app, stage));
    const { model } = app;
    if (model.raw.sources.length === 0) { this.source.title("Source: none is known"); return; }
    const places = app.selection?.places ?? [];
    if (follow && places.length > 0) { this.chosen = model.raw.places[places[0]][0]; this.choose.value = String(this.chosen); }
    const chosen = this.chosen;
    const lines = (this.split[chosen] ??= model.raw.sources[chosen].text.split("\n"));
    const marks = this.marksOf(places.filter((place) => model.raw.places[place][0] === chosen), lines);
    this.source.title(`Source: ${model.raw.sources[chosen].name}`);
    this.source.show({
      count: lines.length, row: (i) => same(lines[i], String(i + 1)), marked: (i) => marks.has(i), marks: (i) => marks.get(i) ?? [],
      click: (i, column) => this.fromSource(chosen, i, lines[i].slice(0, column)),
    });
    if (!follow) return;
    const line = firstLine(app, stage);
    if (line >= 0) this.stage.scrollTo(line);
    const first = [...marks.keys()][0];
    if (first !== undefined) this.source.scrollTo(first);
  }
  // Places count bytes, rows have UTF-16.
  private marksOf(places: number[], lines: string[]): Map<number, [number, number][]> {
    const marks = new Map<number, [number, number][]>();
    const { model } = this.app;
    for (const place of places) {
      const [source, begin, length] = model.raw.places[place];
      const from = model.lineOf(source, begin), to = model.lineOf(source, begin + length);
      for (let line = from.line; line <= to.line && line < from.line + 200; ++line) {
        const encoded = new TextEncoder().encode(lines[line] ?? "");
        const units = (end: number): number => new TextDecoder().decode(encoded.slice(0, end)).length;
        const range: [number, number] = [line === from.line ? units(from.column) : 0, line === to.line ? units(to.column) : units(encoded.length)];
        if (range[1] > range[0]) marks.set(line, [...(marks.get(line) ?? []), range].sort((a, b) => a[0] - b[0]));
      }
    }
    return marks;
  }
  private fromSource(source: number, line: number, before: string): void {
    const { app } = this;
    const offset = app.model.lineStarts(source)[line] + new TextEncoder().encode(before).length;
    const places = app.model.placesAt(source, offset);
    if (places.length === 0) return;
    const order = [app.stage, ...app.model.stages.filter((stage): stage is Stage => stage !== null)];
    for (const stage of order) {
      const nodes = places.flatMap((place) => stage.at(place));
      if (nodes.length > 0) { app.select(stage, nodes[nodes.length - 1]); return; }
    }
  }
}

/** The shown stage beside the one before it. */
export class DiffView {
  readonly root = element("div", { class: "panes", id: "view-diff" });
  private readonly left = new TextPane("before", "Before");
  private readonly right = new TextPane("after", "After");
  private readonly bar = element("div", { class: "bar-over" });
  private rows: Row[] = [];
  private drawn = -1;
  private wholeText = false;
  constructor(private readonly app: App) {
    this.left.onScroll = (top) => { this.right.top = top; };
    this.right.onScroll = (top) => { this.left.top = top; };
    const button = element("button", { id: "whole-text", on: () => { this.wholeText = !this.wholeText; button.textContent = this.wholeText ? "only changes" : "whole text"; this.drawn = -1; this.draw(); } }, "whole text");
    this.bar.append(element("span", { id: "diff-summary" }), button);
    this.root.append(this.bar, this.left.root, this.right.root);
  }
  draw(): void {
    const { app } = this;
    const after = app.stage, before = app.before;
    if (before === null) {
      this.bar.firstElementChild!.textContent = "This is the first stage.";
      this.left.show({ count: 0, row: () => same("", ""), marked: () => false });
      this.right.title(after.raw.name);
      this.right.show(stageSource(app, after));
      this.drawn = -1;
      return;
    }
    const fresh = this.drawn !== after.index;
    if (fresh) {
      const all = diff(before.lines.map((_, i) => before.line(i)), after.lines.map((_, i) => after.line(i)));
      const removed = all.filter((row) => row.left >= 0 && !this.equal(row)).length, added = all.filter((row) => row.right >= 0 && !this.equal(row)).length;
      this.bar.firstElementChild!.textContent = removed + added === 0 ? "The texts are equal." : `${removed} line${removed === 1 ? "" : "s"} removed, ${added} added`;
      this.rows = this.wholeText ? all : this.near(all);
      this.drawn = after.index;
    }
    this.side(this.left, before, (row) => row.left, "removed", before.raw.name);
    this.side(this.right, after, (row) => row.right, "added", after.raw.name);
    const line = firstLine(app, after);
    const row = line >= 0 ? this.rows.findIndex((each) => each.right === line) : fresh ? this.rows.findIndex((each) => !this.equal(each)) : -1;
    if (row >= 0) { this.left.scrollTo(row); this.right.scrollTo(row); }
  }
  // Pairs of a removed and an added line are one row; equal ones were paired by the search.
  private equal(row: Row): boolean {
    const { app } = this;
    if (row.left < 0 || row.right < 0) return false;
    return plain(app.before!.line(row.left)) === plain(app.stage.line(row.right));
  }
  private near(all: Row[]): Row[] {
    const keep = new Uint8Array(all.length);
    all.forEach((row, i) => { if (!this.equal(row)) for (let k = Math.max(0, i - 4); k <= Math.min(all.length - 1, i + 4); ++k) keep[k] = 1; });
    const rows: Row[] = [];
    all.forEach((row, i) => { if (keep[i]) rows.push(row); else if (i === 0 || keep[i - 1]) rows.push({ left: -2, right: -2 }); });
    return rows;
  }
  private side(pane: TextPane, stage: Stage, line: (row: Row) => number, kind: "added" | "removed", title: string): void {
    const { app } = this;
    const lines = new Set(app.selectedIn(stage).map((node) => stage.nodes.line[node]));
    pane.title(title);
    pane.show({
      count: this.rows.length,
      row: (i) => {
        const at = line(this.rows[i]);
        if (at === -2) return { text: "⋯", kind: "none", number: "" };
        if (at < 0) return { text: "", kind: "none", number: "" };
        return { text: stage.line(at), kind: this.equal(this.rows[i]) ? "same" : kind, number: String(at + 1) };
      },
      marked: (i) => lines.has(line(this.rows[i])) && line(this.rows[i]) >= 0,
      click: (i, column) => { const node = nodeAt(stage, line(this.rows[i]), column); if (node >= 0) app.select(stage, node); },
    });
  }
}

/** A piece of a line that belongs to an operator, in UTF-16 units. */
interface Span { begin: number; end: number; operator: number }
function spans(text: string, runs: number[]): Span[] {
  const encoded = new TextEncoder().encode(text);
  const units = (end: number): number => (encoded.length === text.length ? end : new TextDecoder().decode(encoded.slice(0, end)).length);
  let begin = 0;
  return pieces(runs).map(({ end, operator }) => { const span = { begin, end: units(end), operator }; begin = span.end; return span; });
}

/** Kernels: a list, and loops beside assembly of the chosen one. */
export class CodeView {
  readonly root = element("div", { class: "panes three", id: "view-code" });
  private readonly list = element("ul", { id: "kernel-list" });
  private readonly loops = new TextPane("loops", "Loops");
  private readonly assembly = new TextPane("assembly", "Assembly");
  private clicked: TextPane | null = null;
  constructor(private readonly app: App) {
    this.root.append(element("section", { class: "pane", id: "pane-kernels" }, element("h3", {}, "Kernels"), element("div", { class: "scroller" }, this.list)), this.loops.root, this.assembly.root);
  }
  draw(): void {
    const { app } = this;
    const { kernels } = app.model.raw;
    const order = kernels.map((_, i) => i).sort((a, b) => (kernels[b].ms ?? 0) - (kernels[a].ms ?? 0) || a - b);
    const selection = app.selection;
    const mine = new Set(selection ? app.launchesOf(selection.stage, selection.node).map((launch) => app.model.executable.nodes.kernel[launch]) : []);
    const own = selection ? app.kernelOf(selection.stage, selection.node) : -1;
    const chosen = app.state.kernel >= 0 ? app.state.kernel : own >= 0 ? own : order[0] ?? -1;
    replace(this.list, ...order.map((i) => {
      const { name, by, ms, calls } = kernels[i];
      const item = element("li", { class: `${i === chosen ? "chosen" : ""}${mine.has(i) ? " mine" : ""}` }, element("button", { on: () => this.choose(i) }, element("b", {}, name),
        element("small", {}, `${by}${ms === undefined ? "" : `, ${milliseconds(ms)}, ${calls} call${calls === 1 ? "" : "s"}`}`)));
      item.dataset.kernel = String(i);
      return item;
    }));
    if (chosen < 0) return;
    const { loops, assembly, loop_operators: ofLoops, assembly_operators: ofAssembly } = kernels[chosen];
    const { texts } = app.model.raw;
    const ofLine = pieces(ofAssembly).flatMap(({ end, operator }, i, all) => new Array<number>(end - (i > 0 ? all[i - 1].end : 0)).fill(operator));
    const operators = app.operatorsIn(chosen);
    const show = (pane: TextPane, name: string, lines: number[], operatorsOf: (i: number) => Span[]): void => {
      pane.title(lines.length > 0 ? `${name} of ${kernels[chosen].name}` : `${name}: none, a library kernel or a compiled model`);
      const meant = (i: number): Span[] => operatorsOf(i).filter(({ operator }) => operators.has(operator));
      pane.show({
        count: lines.length, row: (i) => same(texts[lines[i]], String(i + 1)), marked: (i) => meant(i).length > 0,
        marks: (i) => meant(i).filter(({ begin, end }) => begin > 0 || end < texts[lines[i]].length).map(({ begin, end }) => [begin, end]),
        click: (i, column) => {
          this.clicked = pane;
          const known = operatorsOf(i).filter(({ operator }) => operator > 0);
          const at = known.find(({ begin, end }) => begin <= column && column < end) ?? known[0];
          if (at === undefined || !app.selectOperator(chosen, at.operator)) this.selectWork(chosen);
          this.clicked = null;
        },
      });
      pane.root.classList.toggle("mine", mine.has(chosen));
      // The lines that somebody clicked stay where they are.
      const first = operators.size > 0 && pane !== this.clicked ? lines.findIndex((_, i) => meant(i).length > 0) : -1;
      if (first >= 0) { pane.scrollTo(first); pane.scrollToMark(); }
    };
    show(this.loops, "Loops", loops, (i) => spans(texts[loops[i]], ofLoops[i] ?? []));
    show(this.assembly, "Assembly", assembly, (i) => [{ begin: 0, end: texts[assembly[i]].length, operator: ofLine[i] ?? 0 }]);
  }
  private choose(kernel: number): void {
    this.app.change({ kernel });
    this.selectWork(kernel);
  }
  // The other way: a line of a kernel selects the launches that run it, and so what they stand for.
  private selectWork(kernel: number): void {
    const { app } = this;
    const selection = app.selection;
    const launches = app.launchesOfKernel(kernel);
    if (launches.length === 0) return;
    const executable = app.model.executable;
    if (selection && app.launchesOf(selection.stage, selection.node).some((launch) => executable.nodes.kernel[launch] === kernel)) return;
    app.select(executable, launches[0]);
    app.change({ kernel });
  }
}
