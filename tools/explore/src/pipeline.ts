// The list of passes on the left: time, nodes before and after, rules that fired.
import { App } from "./app";
import { RawStage } from "./document";
import { element, milliseconds, replace } from "./dom";

export class Pipeline {
  readonly root = element("nav", { id: "pipeline" });
  private readonly list = element("ol", {});
  private readonly every: HTMLInputElement;
  private drawn = "";

  constructor(private readonly app: App) {
    this.every = element("input", {});
    this.every.type = "checkbox";
    this.every.id = "every-pass";
    this.every.addEventListener("change", () => app.change({ all: this.every.checked }));
    const label = element("label", { title: "Passes that changed nothing too" }, this.every, "all passes");
    this.root.append(element("div", { class: "head" }, element("h2", {}, "Pipeline"), label), this.list);
    this.root.setAttribute("aria-label", "Pipeline");
    app.listen(() => this.draw());
    this.draw();
  }
  /** The stages in the list, in order. */
  shown(): number[] {
    const { stages } = this.app.model;
    return this.app.model.raw.stages.map((_, i) => i).filter((i) => this.app.state.all || stages[i] !== null);
  }
  step(by: number): void {
    const shown = this.shown();
    const at = shown.indexOf(this.app.stage.index);
    const to = shown[Math.max(0, Math.min(shown.length - 1, at + by))];
    this.app.change({ stage: to });
  }
  private draw(): void {
    const { state } = this.app;
    this.every.checked = state.all;
    const key = `${state.all}`;
    if (this.drawn !== key) {
      this.drawn = key;
      const most = Math.max(...this.app.model.raw.stages.map((stage) => (stage.depth === 0 && stage.kind === "module" ? 0 : stage.ms)), 0.001);
      replace(this.list, ...this.shown().map((i) => this.item(i, this.app.model.raw.stages[i], most)));
    }
    const chosen = String(this.app.state.stage < 0 ? this.app.stage.index : this.app.state.stage);
    for (const item of Array.from(this.list.children) as HTMLElement[]) {
      const here = item.dataset.stage === chosen;
      if (here && !item.classList.contains("chosen")) item.scrollIntoView({ block: "nearest" });
      item.classList.toggle("chosen", here);
      item.setAttribute("aria-current", String(here));
    }
  }
  private item(index: number, stage: RawStage, most: number): HTMLElement {
    const difference = stage.after - stage.before;
    const sign = difference === 0 ? "" : difference > 0 ? ` (+${difference})` : ` (${difference})`;
    const nodes = stage.before === stage.after ? `${stage.after} nodes` : `${stage.before} → ${stage.after}${sign}`;
    const bar = element("span", { class: "bar" });
    bar.style.width = `${Math.max(1, Math.round(100 * Math.min(1, stage.ms / most)))}%`;
    const rules = new Map<string, number>();
    for (const [rule] of stage.fired) { const name = this.app.model.raw.texts[rule]; rules.set(name, (rules.get(name) ?? 0) + 1); }
    const fired = [...rules].sort((a, b) => b[1] - a[1]).map(([name, count]) => element("li", {}, `${count} × ${name}`));
    const made = element("li", { class: `stage ${stage.kind}${stage.nodes ? "" : " unchanged"}` },
      element("button", { on: () => this.app.change({ stage: index, tab: this.tabFor(index) }) },
        element("b", {}, stage.name), element("span", { class: "ms" }, stage.ms > 0 ? milliseconds(stage.ms) : ""),
        element("span", { class: "nodes" }, stage.nodes ? nodes : "nothing changed"), element("span", { class: "track" }, bar)),
      stage.firings > 0 ? element("details", { class: "rules" }, element("summary", {}, `${stage.firings} rule${stage.firings > 1 ? "s" : ""} fired`), element("ul", {}, ...fired)) : null);
    made.dataset.stage = String(index);
    made.style.paddingLeft = `${Math.max(0, stage.depth - 1) * 10}px`;
    return made;
  }
  // A pass opens where the person already looks.
  private tabFor(index: number): App["state"]["tab"] {
    const { tab } = this.app.state;
    return tab === "graph" || tab === "diff" || tab === "text" ? tab : index === this.app.model.stages.length - 1 ? "graph" : "diff";
  }
}
