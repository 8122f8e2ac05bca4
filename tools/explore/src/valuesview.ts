// Tables of constants and of the values in a run.
import { App } from "./app";
import { Statistics } from "./document";
import { bytes, element, number, replace } from "./dom";
import { histogram } from "./inspector";

const MOST = 600;

export class ValuesView {
  readonly root = element("div", { id: "view-values" });
  private built = false;
  constructor(private readonly app: App) {}
  draw(): void {
    if (this.built) return;
    this.built = true;
    const { model } = this.app;
    const first = model.stages[0];
    const rows: { label: string; go: (() => void) | null; statistics: Statistics }[] = [];
    const readers = new Map<number, [number, number]>();
    for (const stage of model.stages) if (stage) stage.nodes.constant.forEach((constant, node) => { if (constant >= 0 && !readers.has(constant)) readers.set(constant, [stage.index, node]); });
    model.raw.constants.forEach((statistics, i) => {
      const at = readers.get(i);
      const stage = at ? model.stages[at[0]]! : null;
      const user = stage && at ? stage.usersOf(at[1])[0] : undefined;
      rows.push({ label: user === undefined ? `constant ${i}` : `constant of ${stage!.label(user)}`, go: stage && at ? () => { this.app.change({ stage: stage.index }); this.app.select(stage, at[1]); } : null, statistics });
    });
    const sizeOf = (statistics: Statistics): number => statistics.size * (Number(/\d+$/.exec(statistics.dtype)?.[0] ?? 8) / 8);
    rows.sort((a, b) => sizeOf(b.statistics) - sizeOf(a.statistics));
    const total = rows.reduce((sum, row) => sum + sizeOf(row.statistics), 0);
    const values = first ? [...model.values].map(([node, statistics]) => ({ label: first.label(node), go: () => { this.app.change({ stage: 0 }); this.app.select(first, node); }, statistics })) : [];
    replace(this.root,
      element("h2", {}, `Constants: ${rows.length}, ${bytes(total)}`), this.table("constants", rows),
      element("h2", {}, values.length > 0 ? `Values of a run${model.raw.made_up ? " on made-up arguments" : ""}: ${values.length}` : "Values of a run: none"),
      ...model.raw.notes.map((note) => element("p", { class: "note" }, note)), this.table("values", values));
  }
  private table(id: string, rows: { label: string; go: (() => void) | null; statistics: Statistics }[]): HTMLElement {
    const head = element("tr", {}, ...["", "type", "least", "greatest", "mean", "deviation", "zeros", "", "first"].map((name) => element("th", {}, name)));
    const body = rows.slice(0, MOST).map(({ label, go, statistics }) => element("tr", {},
      element("td", {}, go ? element("button", { class: "link", on: go }, label) : label),
      element("td", {}, `${statistics.dtype}(${statistics.shape.join(", ")})`),
      ...[statistics.min, statistics.max, statistics.mean, statistics.std].map((value) => element("td", { class: "number" }, number(value, 3))),
      element("td", { class: "number" }, `${Math.round((100 * statistics.zeros) / Math.max(1, statistics.size))} %`),
      element("td", {}, histogram(statistics)), element("td", { class: "dim" }, statistics.first.slice(0, 4).join(", "))));
    const more = rows.length > MOST ? element("p", { class: "dim" }, `${rows.length - MOST} more are left out.`) : null;
    return element("div", {}, element("table", { id, class: "wide" }, head, ...body), more);
  }
}
