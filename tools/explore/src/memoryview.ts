// The plan of memory over time: launches from left to right, addresses from bottom to top.
import { App } from "./app";
import { MemoryPlan } from "./document";
import { bytes, element, replace } from "./dom";

type Place = [string, number, number, number, number, number];

export class MemoryView {
  readonly root = element("div", { id: "view-memory" });
  private readonly choose = element("select", { id: "choose-plan", title: "Which graph" });
  private readonly summary = element("p", { id: "memory-summary" });
  private readonly canvas = element("canvas", { id: "memory-plan" });
  private readonly about = element("p", { id: "memory-about", class: "dim" }, "Point at a rectangle: a tensor in the memory that launches share.");
  private plan = 0;
  private chosen = -1;
  private launches: number[] | null = null;
  constructor(private readonly app: App) {
    app.model.raw.memory.forEach((plan, i) => { const option = element("option", {}, `${plan.name} (${plan.launches} launches)`); option.value = String(i); this.choose.append(option); });
    const largest = app.model.raw.memory.reduce((best, plan, i, all) => (plan.launches > all[best].launches ? i : best), 0);
    this.plan = largest;
    this.choose.value = String(largest);
    this.choose.addEventListener("change", () => { this.plan = Number(this.choose.value); this.draw(); });
    this.root.append(element("div", { class: "tools" }, this.choose, this.summary), this.canvas, this.about);
    this.canvas.addEventListener("mousemove", (event) => this.over(event));
    this.canvas.addEventListener("click", (event) => { const launch = this.launchAt(event); if (launch >= 0) this.app.select(this.app.model.executable, launch); });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }
  private get current(): MemoryPlan | undefined { return this.app.model.raw.memory[this.plan]; }
  private arena(plan: MemoryPlan): Place[] { return (plan.places ?? []).filter((place) => place[0] === "arena" && place[1] > 0); }
  /** The node of the executable's stage of a launch of the shown graph. */
  private nodeOf(launch: number): number {
    const { executable, raw } = this.app.model;
    if (this.launches === null) {
      this.launches = [];
      for (let node = 0; node < executable.size; ++node) if (executable.nodes.kernel[node] >= 0) this.launches.push(node);
    }
    let at = launch;
    for (let i = 0; i < this.plan; ++i) at += raw.memory[i].launches;
    return this.launches[at] ?? -1;
  }
  draw(): void {
    const plan = this.current;
    if (this.canvas.clientWidth === 0) return;  // it does not show
    if (plan === undefined) { replace(this.summary, "The program has no graph of kernels."); return; }
    if (!plan.planned) { replace(this.summary, "Its sizes are known only when it runs."); return; }
    const places = this.arena(plan);
    const height = Math.max(1, ...(plan.arenas ?? [])), sum = places.reduce((total, place) => total + place[1], 0);
    const of = (home: string): number => (plan.places ?? []).filter((place) => place[0] === home).reduce((total, place) => total + place[1], 0);
    replace(this.summary, `${places.length} tensors share ${bytes(places.length ? height : 0)}; apart they would take ${bytes(sum)}. Constants ${bytes(of("constant"))}, inputs ${bytes(of("input"))}, results ${bytes(of("result"))}, scratch ${bytes(plan.scratch ?? 0)} for each worker.`);
    const ratio = window.devicePixelRatio || 1, { clientWidth: w, clientHeight: h } = this.canvas;
    this.canvas.width = w * ratio;
    this.canvas.height = h * ratio;
    const context = this.canvas.getContext("2d")!;
    context.scale(ratio, ratio);
    context.clearRect(0, 0, w, h);
    const style = getComputedStyle(document.documentElement);
    const { app } = this;
    const selected = new Set(app.selection ? app.launchesOf(app.selection.stage, app.selection.node) : []);
    places.forEach(([, size, offset, first, last], i) => {
      const x = (first / plan.launches) * w, y = h - ((offset + size) / height) * h;
      const mine = selected.has(this.nodeOf(first));
      context.fillStyle = mine ? style.getPropertyValue("--accent") : `hsl(${(i * 47) % 360} 45% 62%)`;
      context.fillRect(x, y, Math.max(1, ((last + 1 - first) / plan.launches) * w - 0.5), Math.max(1, (size / height) * h - 0.5));
      if (i === this.chosen) { context.strokeStyle = style.getPropertyValue("--text"); context.lineWidth = 2; context.strokeRect(x, y, Math.max(2, ((last + 1 - first) / plan.launches) * w), Math.max(2, (size / height) * h)); }
    });
  }
  private hit(event: MouseEvent): number {
    const plan = this.current;
    if (!plan?.planned) return -1;
    const launch = (event.offsetX / this.canvas.clientWidth) * plan.launches, height = Math.max(1, ...(plan.arenas ?? []));
    const address = (1 - event.offsetY / this.canvas.clientHeight) * height;
    return this.arena(plan).findIndex(([, size, offset, first, last]) => launch >= first && launch < last + 1 && address >= offset && address < offset + size);
  }
  private launchAt(event: MouseEvent): number {
    const hit = this.hit(event);
    return hit < 0 ? -1 : this.nodeOf(this.arena(this.current!)[hit][3]);
  }
  private over(event: MouseEvent): void {
    const hit = this.hit(event);
    if (hit === this.chosen) return;
    this.chosen = hit;
    this.draw();
    if (hit < 0) return;
    const [, size, offset, first, last] = this.arena(this.current!)[hit];
    const node = this.nodeOf(first), executable = this.app.model.executable;
    replace(this.about, `${bytes(size)} at ${offset}, from launch ${first} (${node >= 0 ? executable.label(node) : "?"}) to ${last}: ${node >= 0 ? executable.type(node) : ""}`);
  }
}
