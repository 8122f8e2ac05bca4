// The graph of the shown stage, with folds, heat and what the pointer is over.
import { App } from "./app";
import { Colours, GraphCanvas, Paint } from "./canvas";
import { Stage } from "./document";
import { bytes, element, milliseconds, number, replace } from "./dom";
import { buildGraph, openAtFirst, ShownGraph } from "./graph";
import { valueOf } from "./inspector";
import { Item, Layout, layOut } from "./layout";
import { Heat } from "./state";

export function coloursNow(): Colours {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return { text: of("text"), dim: of("dim"), box: of("box"), boxLine: of("line"), node: of("node"), nodeLine: of("node-line"), edge: of("edge"), select: of("accent"), match: of("match"), back: of("back") };
}

interface Shown { graph: ShownGraph; first: Set<number>; open: Set<number>; layout: Layout; folds: string }

export class GraphView {
  readonly root = element("div", { id: "view-graph" });
  readonly canvas: GraphCanvas;
  private readonly tip = element("div", { id: "tip" });
  private readonly legend = element("div", { id: "legend" });
  private readonly shown = new Map<number, Shown>();
  private at = -1;
  private selected = "";
  found = new Set<number>();  // nodes of the stage that the search found
  private readonly layer = element("div", { class: "tools" });

  constructor(private readonly app: App) {
    const surface = element("canvas", { id: "graph" });
    surface.tabIndex = 0;
    surface.setAttribute("aria-label", "Graph: arrows move along edges, Enter folds, plus and minus zoom");
    this.canvas = new GraphCanvas(surface, {
      select: (item) => (item.node >= 0 ? app.select(this.stage, item.node) : this.toggle(item.box)),
      toggle: (box) => this.toggle(box),
      hover: (item, x, y) => this.hover(item, x, y),
    });
    const tool = (id: string, text: string, title: string, go: () => void): HTMLElement => element("button", { id, title, on: go }, text);
    this.layer.append(tool("fit", "whole", "Show the whole graph (0)", () => this.canvas.whole()), tool("unfold", "unfold all", "Open every box (u)", () => this.foldAll(true)),
      tool("fold", "fold all", "Close every box (f)", () => this.foldAll(false)), this.heatChoice(), this.legend);
    this.tip.hidden = true;
    this.root.append(this.layer, surface, this.tip);
  }
  get stage(): Stage { return this.app.stage; }
  get current(): Shown { return this.shown.get(this.stage.index)!; }

  private heatChoice(): HTMLElement {
    const choose = element("select", { id: "heat", title: "Colour by" });
    for (const [value, text] of [["none", "no heat"], ["time", "heat: time"], ["memory", "heat: memory"], ["peak", "heat: share of peak"]]) {
      const option = element("option", {}, text);
      option.value = value;
      option.disabled = (value === "time" || value === "peak") && !this.app.model.raw.profile;
      choose.append(option);
    }
    choose.addEventListener("change", () => this.app.change({ heat: choose.value as Heat }));
    this.app.listen(() => { choose.value = this.app.state.heat; });
    choose.value = this.app.state.heat;
    return choose;
  }

  draw(force = false): void {
    const { stage, app } = this;
    let shown = this.shown.get(stage.index);
    const folds = app.state.folds.join(" ");
    let fresh = false;
    if (shown === undefined) {
      const graph = buildGraph(stage);
      const first = openAtFirst(graph);
      shown = { graph, first, open: new Set(), layout: null as unknown as Layout, folds: "\n" };
      this.shown.set(stage.index, shown);
      fresh = true;
    }
    const selected = app.selectedIn(stage);
    const key = `${app.state.node} ${app.state.of} ${stage.index}`;
    const moved = key !== this.selected;
    if (shown.folds !== folds) {
      shown.folds = folds;
      shown.open = new Set(shown.first);
      shown.graph.boxes.forEach((box, i) => { if (app.state.folds.includes(box.name)) { if (shown!.open.has(i)) shown!.open.delete(i); else shown!.open.add(i); } });
      shown.layout = layOut(shown.graph, shown.open);
      force = true;
    }
    const changed = this.at !== stage.index || force;
    this.canvas.show(shown.layout, coloursNow(), this.paint(shown, new Set(selected)));
    if (this.at !== stage.index || fresh) this.canvas.fit();
    this.at = stage.index;
    this.selected = key;
    if ((moved || changed) && selected.length > 0) this.reveal(selected[0], false);
    this.drawLegend();
  }
  /** Brings a node into view; opens the boxes around it if asked. */
  reveal(node: number, open: boolean): void {
    const shown = this.current;
    node = this.stage.resolve(node);
    if (open && shown.layout.itemOfNode[node] < 0) {
      const folded: string[] = [];
      for (let box = shown.graph.boxOf[node]; box >= 0; box = shown.graph.boxes[box].parent) if (!shown.open.has(box)) folded.push(shown.graph.boxes[box].name);
      if (folded.length > 0) { this.flip(folded); }
    }
    const item = this.itemOf(node);
    if (item !== null && !this.canvas.isVisible(item)) this.canvas.centre(item);
  }
  itemOf(node: number): Item | null {
    const { layout, graph } = this.current;
    node = this.stage.resolve(node);
    if (layout.itemOfNode[node] >= 0) return layout.items[layout.itemOfNode[node]];
    for (let box = graph.boxOf[node]; box >= 0; box = graph.boxes[box].parent) if (layout.itemOfBox[box] >= 0) return layout.items[layout.itemOfBox[box]];
    return null;
  }
  private flip(names: string[]): void {
    const folds = new Set(this.app.state.folds);
    for (const name of names) if (folds.has(name)) folds.delete(name); else folds.add(name);
    this.app.change({ folds: [...folds] });
  }
  toggle(box: number): void { this.flip([this.current.graph.boxes[box].name]); }
  foldAll(open: boolean): void {
    const { graph, first } = this.current;
    const folds: string[] = [];
    graph.boxes.forEach((box, i) => { if (first.has(i) !== (open || (box.parent < 0 && graph.roots.length === 1))) folds.push(box.name); });
    this.app.change({ folds });
    this.canvas.fit();
  }
  private paint(shown: Shown, selected: Set<number>): Paint {
    const { app, stage } = this;
    const { layout, graph } = shown;
    const items = new Set<Item>();
    for (const node of selected) { const item = this.itemOf(node); if (item) items.add(item); }
    const found = new Set<Item>();
    for (const node of this.found) { const item = this.itemOf(node); if (item) found.add(item); }
    let heat: (item: Item) => number = () => 0;
    if (app.state.heat !== "none") {
      const { values, most } = app.heatOf(stage);
      const boxes = new Float64Array(graph.boxes.length);
      values.forEach((value, node) => {
        for (let box = graph.boxOf[node]; box >= 0; box = graph.boxes[box].parent) boxes[box] = app.state.heat === "time" ? boxes[box] + value : Math.max(boxes[box], value);
      });
      const scale = most > 0 ? 1 / most : 0;
      heat = (item) => (item.node >= 0 ? values[item.node] : boxes[item.box]) * scale;
    }
    void layout;
    return { heat, selected: (item) => items.has(item), matched: (item) => found.has(item), mark: () => "" };
  }
  private drawLegend(): void {
    const { app } = this;
    if (app.state.heat === "none") { replace(this.legend); return; }
    const { most } = app.heatOf(this.stage);
    const text = app.state.heat === "time" ? milliseconds(most) : app.state.heat === "memory" ? bytes(most) : `${Math.round(100 * most)} % of the peak`;
    replace(this.legend, element("span", {}, "0"), element("span", { class: "scale" }), element("span", { id: "hottest" }, text));
  }
  private hover(item: Item | null, x: number, y: number): void {
    if (item === null || (item.node < 0 && item.open)) { this.tip.hidden = true; return; }
    const { stage, app } = this;
    const rows: (Node | null)[] = [element("b", {}, item.title)];
    if (item.node >= 0) {
      rows.push(element("div", {}, stage.type(item.node)), stage.attrs(item.node) ? element("div", { class: "dim" }, stage.attrs(item.node).slice(0, 200)) : null);
      const value = valueOf(app, stage, item.node);
      if (value) rows.push(element("div", { class: "value" }, value.min === undefined ? "no finite element" : `${number(value.min)} … ${number(value.max)}, mean ${number(value.mean)} ± ${number(value.std)}`),
        element("div", { class: "dim" }, value.first.join(", ")), (value.times ?? 1) > 1 ? element("div", { class: "dim" }, `the last of ${value.times} times`) : null);
      if (app.state.heat !== "none") rows.push(element("div", {}, this.heatText(item.node)));
    } else {
      rows.push(element("div", {}, item.detail));
    }
    replace(this.tip, ...rows);
    this.tip.hidden = false;
    const around = this.root.getBoundingClientRect();
    this.tip.style.left = `${Math.min(x - around.left + 14, around.width - 330)}px`;
    this.tip.style.top = `${Math.min(y - around.top + 14, around.height - 120)}px`;
  }
  private heatText(node: number): string {
    const value = this.app.heatOf(this.stage).values[node];
    return this.app.state.heat === "time" ? `its kernels: ${milliseconds(value)}` : this.app.state.heat === "memory" ? bytes(value) : `${Math.round(100 * value)} % of the peak`;
  }
  /** Moves the selection along an edge, or beside. */
  walk(direction: "up" | "down" | "left" | "right"): void {
    const { stage, app } = this;
    const { layout } = this.current;
    const now = app.selectedIn(stage)[0];
    const item = now === undefined ? null : this.itemOf(now);
    if (item === null || item.node < 0) {
      const first = layout.items.find((each) => each.node >= 0);
      if (first) app.select(stage, first.node);
      return;
    }
    const index = layout.items.indexOf(item);
    let next: Item | undefined;
    if (direction === "up") next = layout.items[layout.lines.find((line) => line.to === index && layout.items[line.from].node >= 0)?.from ?? -1];
    else if (direction === "down") next = layout.items[layout.lines.find((line) => line.from === index && layout.items[line.to].node >= 0)?.to ?? -1];
    else {
      const row = layout.items.filter((each) => each.node >= 0 && each.y < item.y + item.h && each.y + each.h > item.y && each !== item && (each.x > item.x) === (direction === "right"));
      next = row.sort((a, b) => Math.abs(a.x - item.x) - Math.abs(b.x - item.x))[0];
    }
    if (next) app.select(stage, next.node);
  }
}
