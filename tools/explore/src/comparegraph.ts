// One of two graphs side by side: a stage of a model on a canvas, what differs from the other model in colour.
import { GraphCanvas } from "./canvas";
import { Stage } from "./document";
import { element } from "./dom";
import { buildGraph, openAtFirst, ShownGraph } from "./graph";
import { coloursNow } from "./graphview";
import { Item, Layout, layOut } from "./layout";

interface Shown { graph: ShownGraph; open: Set<number>; layout: Layout }

export class CompareGraph {
  readonly root: HTMLElement;
  readonly canvas: GraphCanvas;
  private readonly heading = element("h3", {});
  private readonly shown = new Map<number, Shown>();
  private stage: Stage | null = null;
  private differs = new Set<number>();
  private chosen = new Set<number>();
  private at = -1;

  constructor(id: string, private readonly colour: "added" | "removed", choose: (node: number) => void) {
    const surface = element("canvas", { id });
    surface.setAttribute("aria-label", "Graph of one model; n goes to the next difference");
    this.canvas = new GraphCanvas(surface, {
      select: (item) => { if (item.node >= 0) choose(item.node); else this.toggle(item.box); },
      toggle: (box) => this.toggle(box),
      hover: (item) => { surface.title = item === null || item.node < 0 || this.stage === null ? "" : `${item.title}  ${this.stage.type(item.node)}  ${this.stage.attrs(item.node)}`.slice(0, 300); },
    });
    this.root = element("div", { class: "pane graph-pane" }, this.heading, surface);
  }
  get layout(): Layout | null { return this.stage === null ? null : this.shown.get(this.stage.index)!.layout; }
  /** For tests: the titles of the items in colour. */
  get coloured(): string[] { return (this.layout?.items ?? []).filter((item) => this.mark(item) !== "").map((item) => item.title); }

  show(title: string, stage: Stage, differs: Set<number>, chosen: Set<number>): void {
    this.heading.textContent = title;
    this.stage = stage;
    this.differs = differs;
    this.chosen = chosen;
    let shown = this.shown.get(stage.index);
    if (shown === undefined) {
      const graph = buildGraph(stage);
      const open = openAtFirst(graph);
      shown = { graph, open, layout: layOut(graph, open) };
      this.shown.set(stage.index, shown);
    }
    this.draw();
    if (this.at !== stage.index) this.canvas.fit();
    this.at = stage.index;
  }
  /** Brings a node into view, and opens the boxes around it. */
  reveal(node: number): void {
    if (this.stage === null || node < 0) return;
    const shown = this.shown.get(this.stage.index)!;
    node = this.stage.resolve(node);
    let closed = false;
    for (let box = shown.graph.boxOf[node]; box >= 0; box = shown.graph.boxes[box].parent) {
      closed = closed || !shown.open.has(box);
      shown.open.add(box);
    }
    if (closed) { shown.layout = layOut(shown.graph, shown.open); this.draw(); }
    const item = shown.layout.items[shown.layout.itemOfNode[node]];
    if (item && !this.canvas.isVisible(item)) this.canvas.centre(item);
  }
  private toggle(box: number): void {
    const shown = this.shown.get(this.stage!.index)!;
    if (!shown.open.delete(box)) shown.open.add(box);
    shown.layout = layOut(shown.graph, shown.open);
    this.draw();
  }
  // A closed box has the colour of what is in it.
  private mark(item: Item): string {
    const { graph } = this.shown.get(this.stage!.index)!;
    const colour = getComputedStyle(document.documentElement).getPropertyValue(`--${this.colour}`).trim();
    if (item.node >= 0) return this.differs.has(item.node) ? colour : "";
    if (item.open) return "";
    for (const node of this.differs) {
      for (let box = graph.boxOf[node]; box >= 0; box = graph.boxes[box].parent) if (box === item.box) return colour;
    }
    return "";
  }
  private draw(): void {
    const { layout } = this;
    const marks = new Map(layout!.items.map((item) => [item, this.mark(item)]));
    this.canvas.show(layout!, coloursNow(), {
      heat: () => 0, matched: () => false, mark: (item) => marks.get(item) ?? "",
      selected: (item) => item.node >= 0 && this.chosen.has(item.node),
    });
  }
}
