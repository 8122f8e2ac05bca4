// The document that the compiler writes, decoded, with the questions that the views ask of it.

export interface Statistics {
  times?: number;  // how often the node ran: these are the values of the last time
  dtype: string; shape: number[]; size: number; min?: number; max?: number; mean?: number; std?: number;
  zeros: number; bad: number; uniform: boolean; histogram?: number[]; first: string[];
}
export interface Nodes {
  kind: number[]; label: number[]; attrs: number[]; type: number[]; place: number[]; line: number[]; column: number[];
  scope: number[]; constant: number[]; kernel: number[]; binder: number[]; operands: number[][]; origins: number[][];
}
export interface RawStage {
  name: string; kind: "module" | "graph" | "launches"; depth: number; ms: number; changed: boolean; before: number; after: number;
  firings: number; fired: [number, number][]; lines?: number[]; nodes?: Nodes; scopes?: [number, number][];
}
export interface Kernel {
  name: string; by: string; source: string; parallel: boolean; loops: number[]; assembly: number[];
  /** The operators of the lines: operator k is origin k - 1 of a launch, 0 is none alone. */
  loop_operators: number[][]; assembly_operators: number[];
  calls?: number; ms?: number; flops?: number; bytes?: number;
}
export interface MemoryPlan {
  name: string; launches: number; planned: boolean; scratch?: number; arenas?: number[];
  places?: [string, number, number, number, number, number][];
}
export interface Raw {
  format: number; title: string; entry: string; target: string; level: number; made_up: boolean; notes: string[];
  kernels: Kernel[]; profile?: { runs: number; ms: number; gflops: number; gigabytes: number; launches: number[] };
  memory: MemoryPlan[]; stages: RawStage[]; values?: [number, Statistics, number][]; constants: Statistics[];
  sources: { name: string; text: string }[]; places: [number, number, number][]; texts: string[];
}

export const FORMAT = 1;

/** Reads the documents in the page: base64 of zlib's format. */
export async function readDocuments(): Promise<Model[]> {
  const models: Model[] = [];
  for (const element of Array.from(document.querySelectorAll('script[type="application/x-relay"]'))) {
    const bytes = Uint8Array.from(atob(element.textContent ?? ""), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate") as ReadableWritablePair<Uint8Array, Uint8Array>);
    const raw = JSON.parse(await new Response(stream).text()) as Raw;
    if (raw.format !== FORMAT) throw new Error(`this page reads documents of format ${FORMAT}, not ${raw.format}`);
    models.push(new Model(raw));
  }
  return models;
}

/** A stage with text and nodes. Passes that changed nothing have none. */
export class Stage {
  readonly lines: number[];
  readonly nodes: Nodes;
  readonly scopes: [number, number][];
  private byPlace: Map<number, number[]> | null = null;
  private byLine: Map<number, number[]> | null = null;
  private users: number[][] | null = null;

  constructor(readonly model: Model, readonly index: number, readonly raw: RawStage) {
    this.lines = raw.lines ?? [];
    this.nodes = raw.nodes as Nodes;
    this.scopes = raw.scopes ?? [];
  }
  get size(): number { return this.nodes.kind.length; }
  text(column: number): string { return column < 0 ? "" : this.model.raw.texts[column]; }
  kind(node: number): string { return this.text(this.nodes.kind[node]); }
  label(node: number): string { return this.text(this.nodes.label[node]); }
  type(node: number): string { return this.text(this.nodes.type[node]); }
  attrs(node: number): string { return this.text(this.nodes.attrs[node]); }
  line(index: number): string { return this.model.raw.texts[this.lines[index]] ?? ""; }

  /** All places that a node stands for. */
  placesOf(node: number): number[] {
    const own = this.nodes.place[node];
    const origins = this.nodes.origins[node].filter((place) => place >= 0);
    return own < 0 ? origins : [own, ...origins];
  }
  /** The nodes that stand for a place. */
  at(place: number): number[] {
    if (this.byPlace === null) {
      this.byPlace = new Map();
      for (let node = 0; node < this.size; ++node) {
        for (const each of new Set(this.placesOf(node))) push(this.byPlace, each, node);
      }
    }
    return this.byPlace.get(place) ?? [];
  }
  /** The nodes whose text ends on a line, in order. */
  onLine(line: number): number[] {
    if (this.byLine === null) {
      this.byLine = new Map();
      for (let node = 0; node < this.size; ++node) if (this.nodes.line[node] >= 0) push(this.byLine, this.nodes.line[node], node);
    }
    const found = this.byLine.get(line) ?? [];
    return found.slice().sort((a, b) => this.nodes.column[a] - this.nodes.column[b]);
  }
  usersOf(node: number): number[] {
    if (this.users === null) {
      this.users = Array.from({ length: this.size }, () => []);
      this.nodes.operands.forEach((operands, user) => operands.forEach((operand) => this.users![operand].push(user)));
    }
    return this.users[node];
  }
  /** What a let or a variable that a let binds stands for. */
  resolve(node: number): number {
    for (let steps = 0; steps <= this.size; ++steps) {
      const kind = this.kind(node);
      const operands = this.nodes.operands[node];
      if (kind === "Let" && operands.length > 0) node = operands[operands.length - 1];
      else if (kind === "Var" && this.nodes.binder[node] >= 0 && this.kind(this.nodes.binder[node]) === "Let"
        && this.nodes.operands[this.nodes.binder[node]].length === 2) node = this.nodes.operands[this.nodes.binder[node]][0];
      else return node;
    }
    return node;
  }
}

export class Model {
  readonly stages: (Stage | null)[];
  readonly values = new Map<number, Statistics>();
  private readonly sourceBytes: (Uint8Array | undefined)[] = [];
  private readonly overlap = new Map<number, number[]>();
  private sorted: number[] | null = null;

  constructor(readonly raw: Raw) {
    this.stages = raw.stages.map((stage, i) => (stage.nodes === undefined ? null : new Stage(this, i, stage)));
    for (const [node, statistics, times] of raw.values ?? []) this.values.set(node, { ...statistics, times });
  }
  get executable(): Stage { return this.stages[this.stages.length - 1] as Stage; }
  /** The stage itself, or the last one before it that has a text. */
  shown(index: number): Stage {
    for (let i = Math.min(index, this.stages.length - 1); i >= 0; --i) { const stage = this.stages[i]; if (stage) return stage; }
    return this.stages.find((stage) => stage !== null) as Stage;
  }
  /** The text of a place; places count bytes. */
  placeText(place: number): string {
    const [source, begin, length] = this.raw.places[place];
    return new TextDecoder().decode(this.bytesOf(source).slice(begin, begin + length));
  }
  bytesOf(source: number): Uint8Array {
    return (this.sourceBytes[source] ??= new TextEncoder().encode(this.raw.sources[source].text));
  }
  /** Line (from 0) and column in bytes of a byte of a source. */
  lineOf(source: number, offset: number): { line: number; column: number } {
    const starts = this.lineStarts(source);
    let low = 0, high = starts.length;
    while (high - low > 1) { const middle = (low + high) >> 1; if (starts[middle] <= offset) low = middle; else high = middle; }
    return { line: low, column: offset - starts[low] };
  }
  private readonly starts: (number[] | undefined)[] = [];
  lineStarts(source: number): number[] {
    let starts = this.starts[source];
    if (starts === undefined) {
      starts = [0];
      this.bytesOf(source).forEach((byte, i) => { if (byte === 10) starts!.push(i + 1); });
      this.starts[source] = starts;
    }
    return starts;
  }
  /** The smallest places that contain a byte of a source. */
  placesAt(source: number, offset: number): number[] {
    let best: number[] = [], size = Infinity;
    this.raw.places.forEach(([from, begin, length], place) => {
      if (from !== source || offset < begin || offset >= begin + Math.max(length, 1)) return;
      if (length < size) { best = [place]; size = length; } else if (length === size) best.push(place);
    });
    return best;
  }
  /** Places that a place lies in or that lie in it, the nearest in size first. */
  private related(place: number): number[] {
    const known = this.overlap.get(place);
    if (known) return known;
    const [source, begin, length] = this.raw.places[place];
    this.sorted ??= this.raw.places.map((_, i) => i);
    const found = this.sorted.filter((other) => {
      const [from, first, size] = this.raw.places[other];
      if (other === place || from !== source) return false;
      return (first >= begin && first + size <= begin + length) || (first <= begin && first + size >= begin + length);
    });
    found.sort((a, b) => Math.abs(this.raw.places[a][2] - length) - Math.abs(this.raw.places[b][2] - length));
    this.overlap.set(place, found);
    return found;
  }
  /** Those of some places that a set of places is about: the same, or else the nearest around or inside. */
  among(places: number[], candidates: Set<number>): Set<number> {
    const same = places.filter((place) => candidates.has(place));
    if (same.length > 0) return new Set(same);
    return new Set(places.map((place) => this.related(place).find((other) => candidates.has(other))).filter((place): place is number => place !== undefined));
  }
  /** The nodes of a stage that a set of places is about: exactly, or else by the nearest place around or inside. */
  nodesFor(stage: Stage, places: number[]): number[] {
    const found = new Set<number>();
    for (const place of places) for (const node of stage.at(place)) found.add(node);
    if (found.size > 0) return [...found].sort((a, b) => a - b);
    for (const place of places) {
      for (const other of this.related(place)) {
        const nodes = stage.at(other);
        if (nodes.length === 0) continue;
        nodes.forEach((node) => found.add(node));
        break;
      }
    }
    return [...found].sort((a, b) => a - b);
  }
}

/** Lengths and operators by turns, as pieces with where they end. */
export function pieces(runs: number[]): { end: number; operator: number }[] {
  const found: { end: number; operator: number }[] = [];
  for (let i = 0, end = 0; i + 1 < runs.length; i += 2) found.push({ end: (end += runs[i]), operator: runs[i + 1] });
  return found;
}

/** The bytes of a tensor type as text; 0 for others and open sizes. */
export function typeBytes(type: string): number {
  const found = /^Tensor\[\(([^()]*)\), (\w+?)(\d+)?\]$/.exec(type);
  if (found === null) return 0;
  const bits = found[3] === undefined ? 8 : Number(found[3]);
  let bytes = bits / 8;
  for (const extent of found[1].split(",")) {
    if (extent.trim() === "") continue;
    const size = Number(extent);
    if (!Number.isFinite(size)) return 0;
    bytes *= size;
  }
  return bytes;
}

export function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) list.push(value); else map.set(key, [value]);
}
