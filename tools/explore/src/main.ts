// Puts the page together: header, pipeline, views, inspector; keys; light and dark.
import { App } from "./app";
import { CompareView } from "./compareview";
import { readDocuments } from "./document";
import { element, milliseconds, replace } from "./dom";
import { GraphView } from "./graphview";
import { Inspector } from "./inspector";
import { MemoryView } from "./memoryview";
import { Pipeline } from "./pipeline";
import { Search } from "./search";
import { Tab } from "./state";
import { CodeView, DiffView, TextView } from "./textviews";
import { ValuesView } from "./valuesview";

interface View { root: HTMLElement; draw(): void }

const KEYS: [string, string][] = [
  ["1 … 7", "graph, difference, text, code, memory, values, compare"], ["j k", "next and previous pass"], ["a", "all passes, or those that changed something"],
  ["/", "search"], ["arrows", "move the selection along edges and beside"], ["Enter", "open or fold the box of the selection"], ["+ −", "zoom"], ["0", "the whole graph"],
  ["u f", "open and fold every box"], ["h", "next heat: none, time, memory, share of the peak"], ["n", "next difference of two models"], ["d", "light or dark"], ["c", "copy the link to this place"],
  ["Escape", "select nothing"], ["?", "these keys"],
];

class Page {
  private readonly views: Record<Tab, View>;
  private readonly tabs = element("div", { id: "tabs" });
  private readonly main = element("main", {});
  private readonly graph: GraphView;
  private readonly pipeline: Pipeline;
  private readonly search: Search;
  private readonly help = element("dialog", { id: "help" });
  private readonly compare: CompareView;

  constructor(private readonly app: App) {
    this.graph = new GraphView(app);
    this.compare = new CompareView(app);
    this.views = { graph: this.graph, diff: new DiffView(app), text: new TextView(app), code: new CodeView(app), memory: new MemoryView(app), values: new ValuesView(app), compare: this.compare };
    this.search = new Search(app, this.graph);
    this.pipeline = new Pipeline(app);
    this.tabs.setAttribute("role", "tablist");
    const names: Record<Tab, string> = { graph: "Graph", diff: "Difference", text: "Text", code: "Code", memory: "Memory", values: "Values", compare: "Compare" };
    (Object.keys(names) as Tab[]).forEach((tab, i) => {
      const button = element("button", { id: `tab-${tab}`, title: `${names[tab]} (${i + 1})`, on: () => app.change({ tab }) }, names[tab]);
      button.setAttribute("role", "tab");
      button.disabled = tab === "compare" && app.models.length < 2;
      this.tabs.append(button);
    });
    const { raw } = app.model;
    const about = `${raw.target}, level ${raw.level}${raw.profile ? `, ${milliseconds(raw.profile.ms)} a run${raw.made_up ? " on made-up arguments" : ""}` : ""}`;
    const header = element("header", {}, element("h1", {}, app.models.map((model) => model.raw.title).join(" and ")), element("span", { class: "dim", id: "about" }, about), this.tabs, this.search.root,
      element("button", { id: "copy-link", title: "Copy the link to this place (c)", on: () => this.copyLink() }, "link"),
      element("button", { id: "theme", title: "Light or dark (d)", on: () => this.turnTheme() }, "◐"), element("button", { id: "keys", title: "Keys (?)", on: () => this.help.showModal() }, "?"));
    replace(this.help, element("h2", {}, "Keys"), element("table", {}, ...KEYS.map(([key, what]) => element("tr", {}, element("th", {}, key), element("td", {}, what)))),
      element("button", { on: () => this.help.close() }, "close"));
    document.body.replaceChildren(header, element("div", { id: "columns" }, this.pipeline.root, this.main, new Inspector(app).root), this.help);
    this.theme();
    app.listen(() => this.draw());
    this.draw();
    document.addEventListener("keydown", (event) => this.key(event));
  }
  private theme(): void {
    const { theme } = this.app.state;
    if (theme === "") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = theme;
  }
  private turnTheme(): void {
    const dark = this.app.state.theme === "" ? window.matchMedia("(prefers-color-scheme: dark)").matches : this.app.state.theme === "dark";
    this.app.change({ theme: dark ? "light" : "dark" });
  }
  private copyLink(): void {
    this.app.change({});
    const button = document.getElementById("copy-link")!;
    const said = (text: string): void => { button.textContent = text; window.setTimeout(() => { button.textContent = "link"; }, 1500); };
    if (navigator.clipboard) navigator.clipboard.writeText(location.href).then(() => said("copied"), () => said("it is in the address"));
    else said("it is in the address");
  }
  private draw(): void {
    const { tab } = this.app.state;
    this.theme();
    for (const button of Array.from(this.tabs.children)) button.setAttribute("aria-selected", String(button.id === `tab-${tab}`));
    const view = this.views[tab];
    if (this.main.firstElementChild !== view.root) this.main.replaceChildren(view.root);
    view.draw();
  }
  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || target instanceof HTMLInputElement || target instanceof HTMLSelectElement || this.help.open) return;
    const { app, graph } = this;
    const tabs = Object.keys(this.views) as Tab[];
    const onGraph = app.state.tab === "graph";
    const actions: Record<string, () => void> = {
      j: () => this.pipeline.step(1), k: () => this.pipeline.step(-1), a: () => app.change({ all: !app.state.all }), "/": () => this.search.input.focus(), "?": () => this.help.showModal(),
      d: () => this.turnTheme(), c: () => this.copyLink(), Escape: () => app.clear(),
      h: () => { const heats = app.model.raw.profile ? (["none", "time", "memory", "peak"] as const) : (["none", "memory"] as const); app.change({ heat: heats[(heats.indexOf(app.state.heat as never) + 1) % heats.length] }); },
    };
    if (onGraph) {
      Object.assign(actions, {
        "+": () => graph.canvas.zoom(1.25), "=": () => graph.canvas.zoom(1.25), "-": () => graph.canvas.zoom(0.8), "0": () => graph.canvas.whole(), u: () => graph.foldAll(true), f: () => graph.foldAll(false),
        ArrowUp: () => graph.walk("up"), ArrowDown: () => graph.walk("down"), ArrowLeft: () => graph.walk("left"), ArrowRight: () => graph.walk("right"),
      });
      if (target.tagName !== "BUTTON") actions.Enter = () => { const node = app.selectedIn(graph.stage)[0]; const item = node === undefined ? null : graph.itemOf(node); if (item) graph.toggle(item.box); };
    }
    if (app.models.length > 1) actions.n = () => this.compare.next();
    const number = Number(event.key);
    if (number >= 1 && number <= tabs.length && !(tabs[number - 1] === "compare" && app.models.length < 2)) actions[event.key] = () => app.change({ tab: tabs[number - 1] });
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  }
  /** For tests and measurements. */
  probe(): { app: App; graph: GraphView; compare: CompareView } { return { app: this.app, graph: this.graph, compare: this.compare }; }
}

const started = performance.now();
readDocuments().then((models) => {
  const page = new Page(new App(models));
  requestAnimationFrame(() => {
    (window as unknown as { relay: unknown }).relay = { ...page.probe(), ready: performance.now(), script: performance.now() - started };
    document.documentElement.dataset.ready = "1";
  });
}).catch((error: unknown) => {
  document.body.textContent = `The page cannot show this document: ${error instanceof Error ? error.message : String(error)}`;
  document.documentElement.dataset.ready = "failed";
});
