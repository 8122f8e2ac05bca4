// Two models side by side, and what differs: nodes of the shown stage of one beside those of the same stage of the other.
import { App } from "./app";
import { CompareGraph } from "./comparegraph";
import { Model, Stage } from "./document";
import { diff } from "./diff";
import { element, milliseconds, replace } from "./dom";
import { TextPane } from "./textview";

interface Pair { left: number; right: number }

/** What a node is, without its name: equal ones are the same node of two models. */
function keyOf(stage: Stage, node: number): string { return `${stage.kind(node)} ${stage.label(node)} ${stage.type(node)} ${stage.attrs(node)}`; }

function computing(stage: Stage): number[] {
  const nodes: number[] = [];
  for (let node = 0; node < stage.size; ++node) if (!["Var", "Let", "Function", "Literal"].includes(stage.kind(node))) nodes.push(node);
  return nodes;
}

export function compareStages(left: Stage, right: Stage): Pair[] {
  const a = computing(left), b = computing(right);
  return diff(a.map((node) => keyOf(left, node)), b.map((node) => keyOf(right, node))).map((row) => ({ left: row.left < 0 ? -1 : a[row.left], right: row.right < 0 ? -1 : b[row.right] }));
}

export class CompareView {
  readonly root = element("div", { class: "panes", id: "view-compare" });
  private readonly left = new TextPane("left-model", "");
  private readonly right = new TextPane("right-model", "");
  readonly leftGraph: CompareGraph;
  readonly rightGraph: CompareGraph;
  private readonly bar = element("div", { class: "bar-over", id: "compare-summary" });
  private pairs: Pair[] = [];
  private drawn = -1;
  private chosen = -1;
  constructor(private readonly app: App) {
    this.left.onScroll = (top) => { this.right.top = top; };
    this.right.onScroll = (top) => { this.left.top = top; };
    const choose = (side: "left" | "right") => (node: number): void => {
      const row = this.pairs.findIndex((pair) => pair[side] === node);
      if (row >= 0) this.choose(row);
    };
    this.leftGraph = new CompareGraph("graph-left", "removed", choose("left"));
    this.rightGraph = new CompareGraph("graph-right", "added", choose("right"));
  }
  /** The stage of the other model that the shown one is compared with: the same pass, as often run before. */
  private otherStage(model: Model): Stage {
    const { stage } = this.app;
    const before = this.app.model.stages.filter((each) => each && each.index < stage.index && each.raw.name === stage.raw.name).length;
    const same = model.stages.filter((each): each is Stage => each !== null && each.raw.name === stage.raw.name);
    return same[Math.min(before, same.length - 1)] ?? model.executable;
  }
  draw(): void {
    const { app } = this;
    const other = app.models[1];
    if (other === undefined) { this.bar.textContent = "One model is here: relay explore A --with B shows two."; return; }
    const left = app.stage, right = this.otherStage(other);
    if (this.drawn !== left.index) {
      this.pairs = compareStages(left, right);
      this.drawn = left.index;
      this.chosen = this.pairs.findIndex((pair) => this.changed(left, right, pair));
    }
    const differing = this.pairs.filter((pair) => this.changed(left, right, pair));
    const time = (model: Model): string => (model.raw.profile ? milliseconds(model.raw.profile.ms) : "not run");
    replace(this.bar, element("span", { id: "compare-count" }, `${differing.length} of ${this.pairs.length} nodes differ. ${app.model.raw.title}: ${time(app.model)}; ${other.raw.title}: ${time(other)}`),
      element("button", { id: "next-difference", on: () => this.next(left, right) }, "next difference (n)"),
      element("button", { id: "compare-form", title: "The two graphs, or the nodes as lists", on: () => app.change({ pairs: app.state.pairs === "graph" ? "list" : "graph" }) },
        app.state.pairs === "graph" ? "as lists" : "as graphs"));
    if (app.state.pairs === "graph") { this.graphs(left, right, other); return; }
    this.panes(this.left.root, this.right.root);
    this.side(this.left, app.model, left, (pair) => pair.left, "removed", left, right);
    this.side(this.right, other, right, (pair) => pair.right, "added", left, right);
    const selected = new Set(app.selectedIn(left));
    const row = this.pairs.findIndex((pair) => selected.has(pair.left));
    const to = row >= 0 ? row : this.chosen;
    if (to >= 0) { this.left.scrollTo(to); this.right.scrollTo(to); }
  }
  private panes(left: HTMLElement, right: HTMLElement): void {
    if (this.root.children[1] !== left) replace(this.root, this.bar, left, right);
  }
  private graphs(left: Stage, right: Stage, other: Model): void {
    this.panes(this.leftGraph.root, this.rightGraph.root);
    const selected = new Set(this.app.selectedIn(left));
    const differing = this.pairs.filter((pair) => this.changed(left, right, pair));
    const chosen = this.pairs.filter((pair, i) => (i === this.chosen && selected.size === 0) || selected.has(pair.left));
    const nodes = (pairs: Pair[], side: "left" | "right"): Set<number> => new Set(pairs.map((pair) => pair[side]).filter((node) => node >= 0));
    this.leftGraph.show(`${this.app.model.raw.title}: ${left.raw.name}`, left, nodes(differing, "left"), nodes(chosen, "left"));
    this.rightGraph.show(`${other.raw.title}: ${right.raw.name}`, right, nodes(differing, "right"), nodes(chosen, "right"));
    if (chosen.length === 0) return;
    // What only one model has is shown beside the nodes before it.
    const near = (side: "left" | "right"): number => {
      for (let i = this.pairs.indexOf(chosen[0]); i >= 0; --i) if (this.pairs[i][side] >= 0) return this.pairs[i][side];
      return -1;
    };
    this.leftGraph.reveal(near("left"));
    this.rightGraph.reveal(near("right"));
  }
  private choose(row: number): void {
    this.chosen = row;
    const { left } = this.pairs[row];
    if (left >= 0) this.app.select(this.app.stage, left); else this.app.clear();
  }
  private changed(left: Stage, right: Stage, pair: Pair): boolean {
    return pair.left < 0 || pair.right < 0 || keyOf(left, pair.left) !== keyOf(right, pair.right);
  }
  next(left = this.app.stage, right = this.otherStage(this.app.models[1])): void {
    const from = this.chosen;
    for (let i = 1; i <= this.pairs.length; ++i) {
      const at = (from + i) % this.pairs.length;
      if (!this.changed(left, right, this.pairs[at])) continue;
      this.chosen = at;
      break;
    }
    if (this.chosen >= 0) this.choose(this.chosen);
  }
  private side(pane: TextPane, model: Model, stage: Stage, node: (pair: Pair) => number, kind: "added" | "removed", left: Stage, right: Stage): void {
    const selected = new Set(model === this.app.model ? this.app.selectedIn(stage) : this.pairs.filter((pair) => this.app.selectedIn(left).includes(pair.left)).map((pair) => pair.right));
    pane.title(`${model.raw.title}: ${stage.raw.name}`);
    pane.show({
      count: this.pairs.length,
      row: (i) => {
        const at = node(this.pairs[i]);
        if (at < 0) return { text: "", kind: "none", number: "" };
        const attrs = stage.attrs(at);
        return { text: `${stage.label(at)}  ${stage.type(at)}${attrs ? `  ${attrs}` : ""}`, kind: this.changed(left, right, this.pairs[i]) ? kind : "same", number: String(i + 1) };
      },
      marked: (i) => i === this.chosen || (node(this.pairs[i]) >= 0 && selected.has(node(this.pairs[i]))),
      click: (i) => this.choose(i),
    });
  }
}
