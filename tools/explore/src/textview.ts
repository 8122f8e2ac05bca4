// Text of any length in a pane: only the rows that show have elements.
import { element } from "./dom";

export interface Cell { text: string; kind: "" | "same" | "added" | "removed" | "none"; number: string }
export interface TextSource {
  count: number;
  row(index: number): Cell;
  /** Ranges of a row to show as matches, in UTF-16 units; the whole row if it has none and `isMarked`. */
  marked(index: number): boolean;
  marks?(index: number): [number, number][];
  click?(index: number, column: number): void;
}

export const ROW = 18;
const AROUND = 12;
const TOKENS = /(%[\w.]+|@[\w.]+|"(?:[^"\\]|\\.)*"|\/\/.*|\b(?:fn|let|def|if|else|match|type|return|for|parallel|vector|unroll|graph)\b|\b\d[\w.]*\b)/g;

export class TextPane {
  readonly root: HTMLElement;
  private readonly scroller: HTMLElement;
  private readonly space: HTMLElement;
  private readonly rows: HTMLElement;
  private source: TextSource | null = null;
  private first = -1;
  private frame = 0;
  onScroll: ((top: number) => void) | null = null;

  constructor(name: string, title: string) {
    this.rows = element("div", { class: "rows" });
    this.space = element("div", { class: "space" }, this.rows);
    this.scroller = element("div", { class: "scroller" }, this.space);
    this.scroller.tabIndex = 0;
    this.scroller.setAttribute("aria-label", title);
    this.root = element("section", { class: "pane", id: `pane-${name}` }, element("h3", {}, title), this.scroller);
    this.scroller.addEventListener("scroll", () => {
      if (this.frame === 0) this.frame = requestAnimationFrame(() => { this.frame = 0; this.render(); });
      this.onScroll?.(this.scroller.scrollTop);
    });
    new ResizeObserver(() => { this.first = -1; this.render(); }).observe(this.scroller);
    this.rows.addEventListener("click", (event) => this.clicked(event));
  }
  title(text: string): void { this.root.firstElementChild!.textContent = text; }
  show(source: TextSource): void {
    this.source = source;
    this.space.style.height = `${source.count * ROW}px`;
    this.first = -1;
    this.render();
  }
  scrollTo(row: number): void {
    const top = row * ROW, height = this.scroller.clientHeight;
    if (top < this.scroller.scrollTop + ROW || top > this.scroller.scrollTop + height - 2 * ROW) this.scroller.scrollTop = Math.max(0, top - height / 3);
    this.first = -1;
    this.render();
  }
  /** Sideways, to the first mark that shows. */
  scrollToMark(): void { this.rows.querySelector("mark")?.scrollIntoView({ block: "nearest", inline: "nearest" }); }
  set top(value: number) { if (Math.abs(this.scroller.scrollTop - value) > 1) this.scroller.scrollTop = value; }

  private render(): void {
    if (this.source === null) return;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - AROUND);
    if (first === this.first) return;
    this.first = first;
    const last = Math.min(this.source.count, first + Math.ceil(this.scroller.clientHeight / ROW) + 2 * AROUND);
    this.rows.style.transform = `translateY(${first * ROW}px)`;
    const made: HTMLElement[] = [];
    for (let i = first; i < last; ++i) made.push(this.row(i));
    this.rows.replaceChildren(...made);
  }
  private row(index: number): HTMLElement {
    const cell = this.source!.row(index);
    const marks = this.source!.marks?.(index) ?? [];
    const code = element("code", {});
    fill(code, cell.text.length > 4000 ? cell.text.slice(0, 4000) + "…" : cell.text, marks);
    const row = element("div", { class: `row ${cell.kind}${this.source!.marked(index) ? " marked" : ""}` }, element("i", {}, cell.number), code);
    row.dataset.row = String(index);
    return row;
  }
  private clicked(event: MouseEvent): void {
    const row = (event.target as HTMLElement).closest<HTMLElement>(".row");
    if (row === null || window.getSelection()?.toString()) return;
    this.source?.click?.(Number(row.dataset.row), columnAt(row.querySelector("code")!, event));
  }
}

function fill(code: HTMLElement, text: string, marks: [number, number][]): void {
  if (marks.length > 0) {
    let at = 0;
    for (const [begin, end] of marks) {
      if (begin < at) continue;
      code.append(text.slice(at, begin), element("mark", {}, text.slice(begin, end)));
      at = end;
    }
    code.append(text.slice(at));
    return;
  }
  let at = 0;
  for (const match of text.matchAll(TOKENS)) {
    if (match.index! > at) code.append(text.slice(at, match.index));
    const first = match[0][0];
    const kind = first === "%" ? "v" : first === "@" ? "g" : first === '"' ? "s" : first === "/" ? "c" : /\d/.test(first) ? "n" : "k";
    code.append(element("span", { class: kind }, match[0]));
    at = match.index! + match[0].length;
  }
  code.append(text.slice(at));
}

/** The character of a row's text that was clicked. */
function columnAt(code: HTMLElement, event: MouseEvent): number {
  const range = document.caretRangeFromPoint?.(event.clientX, event.clientY);
  if (!range || !code.contains(range.startContainer)) return code.textContent!.length;
  const before = document.createRange();
  before.selectNodeContents(code);
  before.setEnd(range.startContainer, range.startOffset);
  return before.toString().length;
}
