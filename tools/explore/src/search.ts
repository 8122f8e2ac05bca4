// Search over the shown stage: labels, types and attributes.
import { App } from "./app";
import { element, replace } from "./dom";
import { GraphView } from "./graphview";

const MOST = 200;

export class Search {
  readonly root = element("div", { id: "search" });
  readonly input = element("input", { id: "search-text", title: "Search (/)" });
  private readonly list = element("ul", { id: "search-results" });
  private found: number[] = [];
  private at = -1;
  constructor(private readonly app: App, private readonly graph: GraphView) {
    this.input.type = "search";
    this.input.placeholder = "Search nodes ( / )";
    this.input.setAttribute("aria-label", "Search nodes");
    this.input.addEventListener("input", () => this.run());
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); this.next(event.shiftKey ? -1 : 1); }
      if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); this.next(event.key === "ArrowDown" ? 1 : -1); }
      if (event.key === "Escape") { this.input.value = ""; this.run(); this.input.blur(); }
    });
    this.root.append(this.input, this.list);
  }
  private run(): void {
    const words = this.input.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const { stage } = this.app;
    this.found = [];
    this.at = -1;
    if (words.length > 0) {
      for (let node = 0; node < stage.size; ++node) {
        if (stage.kind(node) === "Let") continue;
        const text = `${stage.label(node)} ${stage.type(node)} ${stage.attrs(node)}`.toLowerCase();
        if (words.every((word) => text.includes(word))) this.found.push(node);
      }
    }
    this.graph.found = new Set(this.found);
    this.show();
    if (this.app.state.tab === "graph") this.graph.draw();
  }
  private show(): void {
    const { stage } = this.app;
    if (this.input.value.trim() === "") { replace(this.list); return; }
    replace(this.list, element("li", { class: "dim", id: "search-count" }, `${this.found.length} found`), ...this.found.slice(0, MOST).map((node, i) =>
      element("li", { class: i === this.at ? "chosen" : "" }, element("button", { on: () => { this.at = i; this.go(); } }, element("b", {}, stage.label(node)), element("small", {}, stage.type(node))))));
    this.list.querySelector(".chosen")?.scrollIntoView({ block: "nearest" });
  }
  private next(by: number): void {
    if (this.found.length === 0) return;
    this.at = (this.at + by + this.found.length) % this.found.length;
    this.go();
  }
  private go(): void {
    const node = this.found[this.at];
    this.app.select(this.app.stage, node);
    if (this.app.state.tab === "graph") this.graph.reveal(node, true);
    this.show();
  }
}
