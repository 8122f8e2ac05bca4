// What is known of the selected node, on the right: type, place, values, and the same node everywhere else.
import { App } from "./app";
import { Stage, Statistics, typeBytes } from "./document";
import { bytes, element, milliseconds, number, replace } from "./dom";

export function statisticsTable(statistics: Statistics): HTMLElement {
  const rows: [string, string][] = [
    ["shape", `(${statistics.shape.join(", ")}) ${statistics.dtype}`],
    ["from … to", statistics.min === undefined ? "–" : `${number(statistics.min)} … ${number(statistics.max)}`],
    ["mean ± deviation", statistics.mean === undefined ? "–" : `${number(statistics.mean)} ± ${number(statistics.std)}`],
    ["zeros", `${statistics.zeros} of ${statistics.size}`],
    ["first", statistics.first.join(", ") + (statistics.size > statistics.first.length ? ", …" : "")],
  ];
  if ((statistics.times ?? 1) > 1) rows.push(["ran", `${statistics.times} times; this is the last`]);
  if (statistics.bad > 0) rows.push(["not finite", String(statistics.bad)]);
  if (statistics.uniform && statistics.size > 1) rows.push(["", "all elements are equal"]);
  const table = element("table", { class: "facts" }, ...rows.map(([name, value]) => element("tr", {}, element("th", {}, name), element("td", {}, value))));
  return element("div", { class: "statistics" }, table, histogram(statistics));
}

export function histogram(statistics: Statistics): HTMLElement | null {
  if (!statistics.histogram) return null;
  const most = Math.max(...statistics.histogram);
  const bars = statistics.histogram.map((count) => {
    const bar = element("span", { title: String(count) });
    bar.style.height = `${Math.max(count > 0 ? 2 : 0, Math.round((40 * count) / most))}px`;
    return bar;
  });
  return element("div", { class: "histogram" }, ...bars);
}

/** The measured values of a node: its own, or those of the node of the first stage that it stands for. */
export function valueOf(app: App, stage: Stage, node: number): Statistics | null {
  const { model } = app;
  const constant = stage.nodes.constant[node];
  if (constant >= 0) return model.raw.constants[constant];
  const first = model.stages[0];
  if (first === null) return null;
  if (stage === first) return model.values.get(stage.resolve(node)) ?? null;
  const type = stage.type(node);
  const matches = model.nodesFor(first, stage.placesOf(node)).filter((each) => model.values.has(each) && first.type(each) === type);
  return matches.length > 0 ? model.values.get(matches[matches.length - 1])! : null;
}

export class Inspector {
  readonly root = element("aside", { id: "inspector" });
  constructor(private readonly app: App) {
    this.root.setAttribute("aria-label", "Selected node");
    app.listen(() => this.draw());
    this.draw();
  }
  private draw(): void {
    const { app } = this;
    const selection = app.selection;
    if (selection === null) {
      replace(this.root, element("h2", {}, "Nothing selected"), element("p", { class: "dim" },
        "Select a node in the graph, or a line of text, loops or assembly: all views then show the same work. Press ? for the keys."), ...this.notes());
      return;
    }
    const { stage, node } = selection;
    const facts: [string, string][] = [["stage", stage.raw.name], ["kind", stage.kind(node)]];
    if (stage.type(node) !== "") facts.push(["type", stage.type(node)]);
    if (stage.attrs(node) !== "") facts.push([stage.raw.kind === "module" ? "attributes" : "does", stage.attrs(node)]);
    const size = typeBytes(stage.type(node));
    if (size > 0) facts.push(["memory", bytes(size)]);
    const launches = app.launchesOf(stage, node);
    if (launches.length > 0 && app.model.raw.profile) {
      const ms = launches.reduce((sum, launch) => sum + app.launchCost(launch).ms, 0);
      facts.push(["time", `${milliseconds(ms)} of ${milliseconds(app.model.raw.profile.ms)}`]);
      facts.push(["share of the peak", `${Math.round(100 * Math.max(...launches.map((launch) => app.launchCost(launch).peak)))} %`]);
    }
    const value = valueOf(app, stage, node);
    replace(this.root,
      element("h2", { id: "selected-label" }, stage.label(node)),
      element("table", { class: "facts" }, ...facts.map(([name, text]) => element("tr", {}, element("th", {}, name), element("td", {}, text)))),
      this.flow(stage, node),
      this.source(selection.places),
      value ? element("section", {}, element("h3", {}, stage.kind(node) === "Constant" ? "Constant" : "Value"), statisticsTable(value)) : null,
      this.everywhere(), this.kernels(launches), ...this.notes());
  }
  private notes(): HTMLElement[] { return this.app.model.raw.notes.map((note) => element("p", { class: "note" }, note)); }
  private link(text: string, go: () => void, small = ""): HTMLElement {
    return element("li", {}, element("button", { class: "link", on: go }, text), small ? element("small", {}, small) : null);
  }
  private flow(stage: Stage, node: number): HTMLElement {
    const names = (nodes: number[]): HTMLElement[] => [...new Set(nodes.map((each) => stage.resolve(each)))].slice(0, 12)
      .map((each) => this.link(stage.label(each), () => this.app.select(stage, each), stage.type(each)));
    const operands = names(stage.nodes.operands[node]), users = names(stage.usersOf(node));
    return element("section", { class: "flow" },
      element("h3", {}, "From"), operands.length ? element("ul", {}, ...operands) : element("p", { class: "dim" }, "nothing"),
      element("h3", {}, "To"), users.length ? element("ul", { id: "users" }, ...users) : element("p", { class: "dim" }, "the result"));
  }
  private source(places: number[]): HTMLElement | null {
    if (places.length === 0) return element("p", { class: "dim" }, "A pass made this node: it has no place in the source.");
    const { model } = this.app;
    const rows = places.slice(0, 6).map((place) => {
      const [source, begin] = model.raw.places[place];
      const at = model.lineOf(source, begin);
      const text = model.placeText(place).split("\n")[0];
      return this.link(text.length > 120 ? text.slice(0, 119) + "…" : text, () => this.app.change({ tab: "text" }), `${model.raw.sources[source].name}:${at.line + 1}`);
    });
    return element("section", {}, element("h3", {}, "Source"), element("ul", { id: "places" }, ...rows));
  }
  private everywhere(): HTMLElement {
    const rows: HTMLElement[] = [];
    for (const stage of this.app.model.stages) {
      if (stage === null) continue;
      const nodes = this.app.selectedIn(stage);
      const text = nodes.length === 0 ? "gone" : `${stage.label(nodes[0])}${nodes.length > 1 ? ` and ${nodes.length - 1} more` : ""}`;
      const go = (): void => { this.app.change({ stage: stage.index }); if (nodes.length > 0) this.app.select(stage, nodes[0]); };
      rows.push(element("li", { class: nodes.length === 0 ? "gone" : "" }, element("button", { class: "link", on: go }, stage.raw.name), element("small", {}, text)));
    }
    return element("section", {}, element("h3", {}, "In every stage"), element("ul", { id: "everywhere" }, ...rows));
  }
  private kernels(launches: number[]): HTMLElement | null {
    const { model } = this.app;
    const numbers = [...new Set(launches.map((launch) => model.executable.nodes.kernel[launch]))];
    if (numbers.length === 0) return null;
    return element("section", {}, element("h3", {}, "Kernels"), element("ul", { id: "kernels-of" }, ...numbers.map((kernel) =>
      this.link(model.raw.kernels[kernel].name, () => this.app.change({ kernel, tab: "code" }), model.raw.kernels[kernel].by))));
  }
}
