// The state of the page and what changes it: views draw from it, and ask it for changes.
import { Model, Stage, typeBytes } from "./document";
import { decode, encode, State } from "./state";

export interface Selection { stage: Stage; node: number; places: number[] }

export class App {
  state: State;
  private readonly listeners: ((app: App) => void)[] = [];
  private launchHeat: Map<number, { ms: number; peak: number }> | null = null;
  private heats = new Map<string, { values: Float64Array; most: number }>();

  constructor(readonly models: Model[]) {
    this.state = decode(location.hash);
    this.settle();
    window.addEventListener("hashchange", () => {
      if (encode(this.state) === location.hash) return;
      this.state = decode(location.hash);
      this.settle();
      this.tell();
    });
  }
  get model(): Model { return this.models[0]; }
  get stage(): Stage { return this.model.shown(this.state.stage); }
  /** The stage before the shown one: the left side of its difference. */
  get before(): Stage | null { return this.stage.index > 0 ? this.model.shown(this.stage.index - 1) : null; }

  // An address may name what this document does not have.
  private settle(): void {
    const { state, model } = this;
    if (state.stage < 0 || state.stage >= model.stages.length) state.stage = this.model.raw.stages[0].kind === "module" ? 0 : model.stages.length - 1;
    const of = state.of >= 0 && state.of < model.stages.length ? model.stages[state.of] : null;
    if (of === null || state.node >= of.size) { state.node = -1; state.of = -1; }
    if (state.kernel >= model.raw.kernels.length) state.kernel = -1;
    if (state.tab === "compare" && this.models.length < 2) state.tab = "graph";
  }
  listen(listener: (app: App) => void): void { this.listeners.push(listener); }
  private tell(): void { for (const listener of this.listeners) listener(this); }
  change(changes: Partial<State>): void {
    Object.assign(this.state, changes);
    this.settle();
    history.replaceState(null, "", encode(this.state));
    this.tell();
  }

  get selection(): Selection | null {
    const { node, of } = this.state;
    const stage = of >= 0 ? this.model.stages[of] : null;
    if (stage === null || node < 0) return null;
    return { stage, node, places: stage.placesOf(node) };
  }
  /** The nodes of a stage that the selection is about; in its own stage, itself first. */
  selectedIn(stage: Stage): number[] {
    const selection = this.selection;
    if (selection === null) return [];
    if (selection.stage === stage) return [selection.node];
    const same = (node: number): number =>
      (stage.label(node) === selection.stage.label(selection.node) ? 0 : 2) + (stage.kind(node) === selection.stage.kind(selection.node) ? 0 : 1);
    return stage.model.nodesFor(stage, selection.places).sort((a, b) => same(a) - same(b) || a - b);
  }
  select(stage: Stage, node: number, kernel = this.kernelOf(stage, node)): void {
    this.change({ node, of: stage.index, kernel: kernel >= 0 ? kernel : this.state.kernel });
  }
  clear(): void { this.change({ node: -1, of: -1 }); }

  /** The kernel of the launches that do a node's work: the one that takes the longest. */
  kernelOf(stage: Stage, node: number): number {
    const kernels = this.launchesOf(stage, node).map((launch) => this.model.executable.nodes.kernel[launch]).filter((kernel) => kernel >= 0);
    const time = (kernel: number): number => this.model.raw.kernels[kernel].ms ?? 0;
    return kernels.length === 0 ? -1 : kernels.reduce((best, kernel) => (time(kernel) > time(best) ? kernel : best));
  }
  launchesOf(stage: Stage, node: number): number[] {
    const executable = this.model.executable;
    if (stage === executable) return stage.nodes.kernel[node] >= 0 ? [node] : [];
    return this.model.nodesFor(executable, stage.placesOf(node)).filter((launch) => executable.nodes.kernel[launch] >= 0);
  }
  launchesOfKernel(kernel: number): number[] {
    const found: number[] = [];
    this.model.executable.nodes.kernel.forEach((each, node) => { if (each === kernel) found.push(node); });
    return found;
  }

  /** The operators of a kernel that the selection is about, by their numbers in its code; none if that is all of its work. */
  operatorsIn(kernel: number): Set<number> {
    const found = new Set<number>();
    const selection = this.selection;
    if (selection === null || selection.stage.raw.kind !== "module") return found;
    const { nodes } = this.model.executable;
    for (const launch of this.launchesOf(selection.stage, selection.node)) {
      if (nodes.kernel[launch] !== kernel) continue;
      const meant = this.model.among(selection.places, new Set(nodes.origins[launch]));
      nodes.origins[launch].forEach((place, i) => { if (meant.has(place)) found.add(i + 1); });
    }
    return found;
  }
  /** The other way: selects the call of an operator of a kernel; false if nobody knows it. */
  selectOperator(kernel: number, operator: number): boolean {
    for (const launch of this.launchesOfKernel(kernel)) {
      const place = this.model.executable.nodes.origins[launch][operator - 1] ?? -1;
      for (const stage of this.model.stages) {
        if (place < 0 || stage === null || stage.raw.kind !== "module") continue;
        const calls = stage.at(place).filter((node) => stage.kind(node) === "Call");
        if (calls.length === 0) continue;
        this.select(stage, calls[0], kernel);
        return true;
      }
    }
    return false;
  }

  /** Milliseconds of a launch, and its share of the best that the machine does. */
  launchCost(launch: number): { ms: number; peak: number } {
    if (this.launchHeat === null) {
      this.launchHeat = new Map();
      const { profile, kernels } = this.model.raw;
      const executable = this.model.executable;
      let index = 0;
      for (let node = 0; node < executable.size; ++node) {
        const kernel = executable.nodes.kernel[node];
        if (kernel < 0) continue;
        const ms = profile?.launches[index++] ?? 0;
        const { flops = 0, bytes = 0, calls = 1, ms: total = 0 } = kernels[kernel];
        const each = total / Math.max(1, calls);
        const gflops = each > 0 ? flops / Math.max(1, calls) / each / 1e6 : 0, gigabytes = each > 0 ? bytes / Math.max(1, calls) / each / 1e6 : 0;
        const peak = profile && profile.gflops > 0 ? Math.max(gflops / profile.gflops, gigabytes / profile.gigabytes) : 0;
        this.launchHeat.set(node, { ms, peak });
      }
    }
    return this.launchHeat.get(launch) ?? { ms: 0, peak: 0 };
  }
  /** The heat of each node of a stage, and the greatest. */
  heatOf(stage: Stage): { values: Float64Array; most: number } {
    const key = `${this.state.heat} ${stage.index}`;
    let found = this.heats.get(key);
    if (found === undefined) {
      const values = new Float64Array(stage.size);
      let most = 0;
      for (let node = 0; node < stage.size; ++node) {
        const kind = stage.kind(node);
        if (this.state.heat === "memory") values[node] = typeBytes(stage.type(node));
        else if (kind === "Call" || kind === "Launch") {
          const costs = this.launchesOf(stage, node).map((launch) => this.launchCost(launch));
          values[node] = this.state.heat === "time" ? costs.reduce((sum, cost) => sum + cost.ms, 0) : costs.reduce((best, cost) => Math.max(best, cost.peak), 0);
        }
        most = Math.max(most, values[node]);
      }
      found = { values, most: this.state.heat === "peak" ? Math.max(1, most) : most };
      this.heats.set(key, found);
    }
    return found;
  }
}
