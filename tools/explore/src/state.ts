// What the page shows, kept in the address so that a link brings another person to the same place.

export type Tab = "graph" | "diff" | "text" | "code" | "memory" | "values" | "compare";
export type Heat = "none" | "time" | "memory" | "peak";

export interface State {
  tab: Tab; stage: number;
  /** The selected node, of the stage `of`. */
  node: number; of: number;
  kernel: number; heat: Heat; all: boolean;
  /** Containers whose fold differs from how they begin, by name. */
  folds: string[];
  /** How two models stand side by side: as graphs, or as lists of nodes. */
  pairs: "graph" | "list";
  theme: "" | "light" | "dark";
}

const FIRST: State = { tab: "graph", stage: -1, node: -1, of: -1, kernel: -1, heat: "none", all: false, folds: [], pairs: "graph", theme: "" };
const TABS: Tab[] = ["graph", "diff", "text", "code", "memory", "values", "compare"];
const HEATS: Heat[] = ["none", "time", "memory", "peak"];

function one<T extends string>(text: string | null, among: readonly T[], otherwise: T): T {
  return among.includes(text as T) ? (text as T) : otherwise;
}

/** Reads an address. It may be anybody's: what makes no sense is as if it were not there. */
export function decode(hash: string): State {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const integer = (name: string): number => {
    const text = fields.get(name);
    return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : -1;
  };
  return {
    tab: one(fields.get("tab"), TABS, FIRST.tab), stage: integer("stage"), node: integer("node"), of: integer("of"), kernel: integer("kernel"),
    heat: one(fields.get("heat"), HEATS, "none"), all: fields.get("all") === "1", folds: (fields.get("folds") ?? "").split(" ").filter((f) => f !== ""),
    pairs: one(fields.get("pairs"), ["graph", "list"] as const, "graph"),
    theme: one(fields.get("theme"), ["", "light", "dark"] as const, ""),
  };
}

export function encode(state: State): string {
  const fields = new URLSearchParams();
  fields.set("tab", state.tab);
  fields.set("stage", String(state.stage));
  if (state.node >= 0) { fields.set("node", String(state.node)); fields.set("of", String(state.of)); }
  if (state.kernel >= 0) fields.set("kernel", String(state.kernel));
  if (state.heat !== "none") fields.set("heat", state.heat);
  if (state.all) fields.set("all", "1");
  if (state.folds.length > 0) fields.set("folds", state.folds.join(" "));
  if (state.pairs !== "graph") fields.set("pairs", state.pairs);
  if (state.theme !== "") fields.set("theme", state.theme);
  return "#" + fields.toString();
}
