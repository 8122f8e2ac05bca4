// A graph on a canvas: pan, zoom, fold, select. What is far away is drawn in few strokes, and while it moves, from a picture.
import { Item, Layout } from "./layout";

export interface Colours { text: string; dim: string; box: string; boxLine: string; node: string; nodeLine: string; edge: string; select: string; match: string; back: string }
export interface CanvasEvents { select(item: Item): void; toggle(box: number): void; hover(item: Item | null, x: number, y: number): void }
/** How items are painted beyond their kind. */
export interface Paint { heat(item: Item): number; selected(item: Item): boolean; matched(item: Item): boolean; mark(item: Item): string }

const READABLE = 0.42;   // the scale from which on texts are drawn
const MANY = 1500;       // visible things from which on movement is drawn from a picture
const SETTLE = 120;      // milliseconds without movement until it is drawn anew
const OVERVIEW = 1800;   // pixels of the picture of the whole graph

export class GraphCanvas {
  private layout: Layout | null = null;
  private colours: Colours | null = null;
  private paint: Paint | null = null;
  private scale = 1; private x = 0; private y = 0;  // a point of the graph is at (p - x) * scale
  private frame = 0;
  private settle = 0;
  private overview: HTMLCanvasElement | null = null;
  private sharp: { picture: HTMLCanvasElement; scale: number; x: number; y: number } | null = null;
  private cells = new Map<number, number[]>();
  private moving = false;
  private drag: { x: number; y: number; moved: boolean } | null = null;
  private shownCount = 0;
  private reach = { x: 0, y: 0 };

  constructor(readonly canvas: HTMLCanvasElement, private readonly events: CanvasEvents) {
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointerleave", () => this.events.hover(null, 0, 0));
    canvas.addEventListener("dblclick", (event) => { const item = this.at(event.offsetX, event.offsetY); if (item && item.node < 0) this.events.toggle(item.box); });
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  show(layout: Layout, colours: Colours, paint: Paint): void {
    this.layout = layout; this.colours = colours; this.paint = paint;
    this.index();
    this.repaint();
  }
  /** After colours or the selection changed. */
  repaint(): void { this.overview = null; this.sharp = null; this.request(); }
  private resize(): void {
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    this.sharp = null;
    this.request();
  }
  get view(): { x: number; y: number; scale: number } { return { x: this.x, y: this.y, scale: this.scale }; }
  /** For tests and measurements: where an item's middle is on the canvas. */
  middleOf(item: Item): { x: number; y: number } {
    const inset = item.open ? 10 : item.h / 2;
    return { x: (item.x + item.w / 2 - this.x) * this.scale, y: (item.y + inset - this.y) * this.scale };
  }
  fit(): void {
    if (this.layout === null) return;
    const { clientWidth: w, clientHeight: h } = this.canvas;
    this.scale = Math.min(1.2, Math.max(0.005, Math.min(w / (this.layout.width + 40), h / (this.layout.height + 40))));
    // What would be unreadable begins at its top.
    const readable = Math.min(0.7, w / Math.min(this.layout.width + 40, 1400));
    if (this.scale < readable && this.layout.items.length < 400) this.scale = readable;
    this.x = this.layout.width / 2 - w / 2 / this.scale;
    this.y = this.layout.height * this.scale > h ? -16 / this.scale : this.layout.height / 2 - h / 2 / this.scale;
    this.request();
  }
  whole(): void {
    if (this.layout === null) return;
    const { clientWidth: w, clientHeight: h } = this.canvas;
    this.scale = Math.min(1.2, w / (this.layout.width + 40), h / (this.layout.height + 40));
    this.x = this.layout.width / 2 - w / 2 / this.scale;
    this.y = this.layout.height / 2 - h / 2 / this.scale;
    this.request();
  }
  centre(item: Item): void {
    if (this.scale < READABLE) this.scale = 0.8;
    this.x = item.x + item.w / 2 - this.canvas.clientWidth / 2 / this.scale;
    this.y = item.y + Math.min(item.h, 60) / 2 - this.canvas.clientHeight / 2 / this.scale;
    this.request();
  }
  isVisible(item: Item): boolean {
    const at = this.middleOf(item);
    return this.scale >= READABLE && at.x > 0 && at.y > 0 && at.x < this.canvas.clientWidth && at.y < this.canvas.clientHeight;
  }
  pan(dx: number, dy: number): void { this.x += dx / this.scale; this.y += dy / this.scale; this.touched(); }
  zoom(factor: number, atX = this.canvas.clientWidth / 2, atY = this.canvas.clientHeight / 2): void {
    const next = Math.min(4, Math.max(0.003, this.scale * factor));
    this.x += atX / this.scale - atX / next;
    this.y += atY / this.scale - atY / next;
    this.scale = next;
    this.touched();
  }

  // ---- Input ----
  private wheel(event: WheelEvent): void {
    event.preventDefault();
    if (event.ctrlKey || !event.shiftKey) this.zoom(Math.exp(-event.deltaY * 0.0015), event.offsetX, event.offsetY);
    else this.pan(event.deltaX + event.deltaY, 0);
  }
  private down(event: PointerEvent): void {
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = { x: event.offsetX, y: event.offsetY, moved: false };
  }
  private move(event: PointerEvent): void {
    if (this.drag !== null) {
      const dx = event.offsetX - this.drag.x, dy = event.offsetY - this.drag.y;
      if (!this.drag.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
      this.drag = { x: event.offsetX, y: event.offsetY, moved: true };
      this.pan(-dx, -dy);
      return;
    }
    this.events.hover(this.at(event.offsetX, event.offsetY), event.clientX, event.clientY);
  }
  private up(event: PointerEvent): void {
    const clicked = this.drag !== null && !this.drag.moved;
    this.drag = null;
    if (!clicked) return;
    const item = this.at(event.offsetX, event.offsetY);
    if (item === null) return;
    const onFold = item.node < 0 && (event.offsetX / this.scale + this.x - item.x) < 22 && (event.offsetY / this.scale + this.y - item.y) < 26;
    if (onFold) this.events.toggle(item.box); else this.events.select(item);
  }
  /** The item at a point of the canvas, the innermost one. */
  at(px: number, py: number): Item | null {
    if (this.layout === null) return null;
    const x = px / this.scale + this.x, y = py / this.scale + this.y;
    let best: Item | null = null;
    for (const i of this.cells.get(this.cell(x, y)) ?? []) {
      const item = this.layout.items[i];
      if (x >= item.x && y >= item.y && x <= item.x + item.w && y <= item.y + item.h && (best === null || item.w * item.h <= best.w * best.h)) best = item;
    }
    return best;
  }
  private cell(x: number, y: number): number { return Math.floor(x / 256) * 1048576 + Math.floor(y / 256); }
  private index(): void {
    this.cells = new Map();
    this.layout!.items.forEach((item, i) => {
      // An open box counts by its head and its corners would be too many cells: it has rows of them.
      for (let x = Math.floor(item.x / 256); x <= Math.floor((item.x + item.w) / 256); ++x) {
        for (let y = Math.floor(item.y / 256); y <= Math.floor((item.y + item.h) / 256); ++y) {
          const key = x * 1048576 + y, list = this.cells.get(key);
          if (list) list.push(i); else this.cells.set(key, [i]);
        }
      }
    });
  }

  // ---- Drawing ----
  private touched(): void {
    this.moving = true;
    window.clearTimeout(this.settle);
    this.settle = window.setTimeout(() => { this.moving = false; this.sharp = null; this.request(); }, SETTLE);
    this.request();
  }
  private request(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
  }
  private draw(): void {
    if (this.layout === null || this.canvas.clientWidth === 0) return;
    const context = this.canvas.getContext("2d")!;
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.colours!.back;
    context.fillRect(0, 0, this.canvas.clientWidth, this.canvas.clientHeight);
    if (this.moving && this.shownCount > MANY) {
      this.fromPictures(context);
      return;
    }
    this.paintAll(context, this.scale, this.x, this.y, this.canvas.clientWidth, this.canvas.clientHeight);
    if (this.shownCount > MANY) this.keepPicture();
  }
  private keepPicture(): void {
    const picture = document.createElement("canvas");
    picture.width = this.canvas.width;
    picture.height = this.canvas.height;
    picture.getContext("2d")!.drawImage(this.canvas, 0, 0);
    this.sharp = { picture, scale: this.scale, x: this.x, y: this.y };
    if (this.overview === null) this.makeOverview();
  }
  private makeOverview(): void {
    const layout = this.layout!;
    const scale = Math.min(1, OVERVIEW / layout.width, OVERVIEW / layout.height);
    const picture = document.createElement("canvas");
    picture.width = Math.ceil(layout.width * scale) + 1;
    picture.height = Math.ceil(layout.height * scale) + 1;
    const count = this.shownCount;
    this.paintAll(picture.getContext("2d")!, scale, 0, 0, picture.width, picture.height);
    this.shownCount = count;
    this.overview = picture;
    this.reach = { x: layout.width, y: layout.height };
  }
  private fromPictures(context: CanvasRenderingContext2D): void {
    context.imageSmoothingQuality = "low";
    if (this.overview) context.drawImage(this.overview, -this.x * this.scale, -this.y * this.scale, this.reach.x * this.scale, this.reach.y * this.scale);
    if (this.sharp) {
      const by = this.scale / this.sharp.scale;
      const w = this.canvas.clientWidth * by, h = this.canvas.clientHeight * by;
      if (by > 0.3) context.drawImage(this.sharp.picture, (this.sharp.x - this.x) * this.scale, (this.sharp.y - this.y) * this.scale, w, h);
    }
  }

  private paintAll(context: CanvasRenderingContext2D, scale: number, x: number, y: number, w: number, h: number): void {
    const layout = this.layout!, colours = this.colours!, paint = this.paint!;
    const left = x, top = y, right = x + w / scale, bottom = y + h / scale;
    const sees = (item: Item): boolean => item.x < right && item.y < bottom && item.x + item.w > left && item.y + item.h > top;
    let count = 0;
    const visible: Item[] = [];
    for (const item of layout.items) if (sees(item)) visible.push(item);
    const texts = scale >= READABLE;
    context.lineWidth = 1;
    for (const item of visible) {  // boxes in order: outer ones first
      if (item.node >= 0) continue;
      if (item.w * scale < 1) continue;
      ++count;
      const px = (item.x - x) * scale, py = (item.y - y) * scale;
      context.fillStyle = heatColour(item.open ? 0 : paint.heat(item)) ?? (paint.mark(item) || colours.box);
      context.strokeStyle = paint.selected(item) ? colours.select : colours.boxLine;
      context.beginPath();
      context.rect(px, py, item.w * scale, item.h * scale);
      context.fill();
      context.stroke();
    }
    count += this.edges(context, scale, x, y, { left, top, right, bottom }, texts);
    const groups = new Map<string, Item[]>();
    for (const item of visible) {
      if (item.node < 0) continue;
      const fill = heatColour(paint.heat(item)) ?? (paint.mark(item) || colours.node);
      const list = groups.get(fill);
      if (list) list.push(item); else groups.set(fill, [item]);
    }
    for (const [fill, items] of groups) {
      context.fillStyle = fill;
      context.beginPath();
      for (const item of items) context.rect((item.x - x) * scale, (item.y - y) * scale, Math.max(1, item.w * scale), Math.max(1, item.h * scale));
      context.fill();
      count += items.length;
      if (scale < 0.15) continue;
      context.strokeStyle = colours.nodeLine;
      context.stroke();
    }
    this.outline(context, visible, scale, x, y);
    if (texts) this.labels(context, visible, scale, x, y);
    this.shownCount = count;
  }
  private outline(context: CanvasRenderingContext2D, visible: Item[], scale: number, x: number, y: number): void {
    for (const item of visible) {
      const chosen = this.paint!.selected(item);
      if (!chosen && !this.paint!.matched(item)) continue;
      context.strokeStyle = chosen ? this.colours!.select : this.colours!.match;
      context.lineWidth = chosen ? 3 : 2;
      context.strokeRect((item.x - x) * scale - 2, (item.y - y) * scale - 2, Math.max(4, item.w * scale + 4), Math.max(4, item.h * scale + 4));
    }
    context.lineWidth = 1;
  }
  private edges(context: CanvasRenderingContext2D, scale: number, x: number, y: number, seen: { left: number; top: number; right: number; bottom: number }, texts: boolean): number {
    const { items, lines } = this.layout!;
    let count = 0;
    context.strokeStyle = this.colours!.edge;
    context.beginPath();
    const labelled: { type: string; px: number; py: number }[] = [];
    for (const { from, to, type } of lines) {
      const a = items[from], b = items[to];
      const ax = a.x + a.w / 2, ay = a.y + a.h, bx = b.x + b.w / 2, by = b.y;
      if (Math.max(ax, bx) < seen.left || Math.min(ax, bx) > seen.right || Math.max(ay, by) < seen.top || Math.min(ay, by) > seen.bottom) continue;
      if (Math.abs(by - ay) * scale < 2 && Math.abs(bx - ax) * scale < 2) continue;
      ++count;
      const px = (ax - x) * scale, py = (ay - y) * scale, qx = (bx - x) * scale, qy = (by - y) * scale;
      context.moveTo(px, py);
      if (scale < 0.2) {
        context.lineTo(qx, qy);
      } else {
        const bend = Math.max(12 * scale, Math.min(60 * scale, Math.abs(qy - py) / 2));
        context.bezierCurveTo(px, py + bend, qx, qy - bend, qx, qy);
        context.moveTo(qx - 3.5 * scale, qy - 6 * scale);
        context.lineTo(qx, qy);
        context.lineTo(qx + 3.5 * scale, qy - 6 * scale);
      }
      if (texts && type !== "" && Math.abs(qy - py) > 18) labelled.push({ type, px: (px + qx) / 2 + 4, py: (py + qy) / 2 + 3 });
    }
    context.stroke();
    if (labelled.length < 400) {
      context.fillStyle = this.colours!.dim;
      context.font = `${Math.round(9.5 * Math.min(scale, 1.4))}px system-ui, sans-serif`;
      const taken = new Set<string>();  // a label that would lie on another one is left out
      for (const label of labelled) {
        const row = Math.round(label.py / 14), first = Math.floor(label.px / 20), last = Math.floor((label.px + label.type.length * 5.2 * scale) / 20);
        let free = true;
        for (let cell = first; cell <= last; ++cell) free = free && !taken.has(`${row} ${cell}`);
        if (!free) continue;
        for (let cell = first; cell <= last; ++cell) taken.add(`${row} ${cell}`);
        context.fillText(label.type, label.px, label.py);
      }
    }
    return count;
  }
  private labels(context: CanvasRenderingContext2D, visible: Item[], scale: number, x: number, y: number): void {
    context.textBaseline = "alphabetic";
    for (const item of visible) {
      const px = (item.x - x) * scale, py = (item.y - y) * scale;
      context.save();
      context.beginPath();
      context.rect(px, py, item.w * scale, item.h * scale);
      context.clip();
      const heated = item.open ? 0 : this.paint!.heat(item);
      context.fillStyle = heated > 0 ? "#10151c" : this.colours!.text;
      context.font = `${item.node < 0 ? "600 " : ""}${12 * scale}px system-ui, sans-serif`;
      if (item.node < 0) {
        context.fillText(`${item.open ? "▾" : "▸"} ${item.title}`, px + 7 * scale, py + 15 * scale);
        context.font = `${10 * scale}px system-ui, sans-serif`;
        if (!item.open) context.fillText(item.detail, px + 21 * scale, py + 31 * scale);
      } else {
        context.fillText(item.title, px + 8 * scale, py + 14 * scale);
        context.fillStyle = heated > 0 ? "#28303c" : this.colours!.dim;
        context.font = `${10 * scale}px system-ui, sans-serif`;
        context.fillText(item.detail, px + 8 * scale, py + 28 * scale);
      }
      context.restore();
    }
  }
}

/** From pale yellow to red; nothing for no heat. */
export function heatColour(heat: number): string | null {
  if (!(heat > 0)) return null;
  const h = Math.min(1, Math.max(0.03, heat));
  return `hsl(${Math.round(54 - 50 * h)} 92% ${Math.round(86 - 32 * h)}%)`;
}
