// Places for the boxes and nodes of a graph: dagre for each open box by itself, innermost first.
import * as dagre from "dagre";
import { ShownGraph } from "./graph";

export interface Item {
  x: number; y: number; w: number; h: number;
  node: number;  // of the stage, -1 for a box
  box: number;   // the box itself, or the one that the node is in
  open: boolean;
  title: string; detail: string;
}
export interface Line { from: number; to: number; type: string }  // items
export interface Layout {
  items: Item[];
  lines: Line[];
  width: number; height: number;
  itemOfNode: Int32Array;
  itemOfBox: Int32Array;
}

export const NODE_HEIGHT = 34;
const CHAR = 6.6, MARGIN = 14, HEAD = 22;

interface Placed { width: number; height: number; x: Float64Array; y: Float64Array }

/** Equal boxes, such as the layers of a network, are laid out once. */
const known = new Map<string, Placed>();

/** A tall row of boxes is set in columns, as a newspaper is, so that the whole of a long graph can be seen. */
const TALL = 7;
function inColumns(sizes: { w: number; h: number }[], placed: Placed): Placed {
  const columns = Math.min(sizes.length, Math.round(Math.sqrt(placed.height / placed.width)));
  if (placed.height < TALL * placed.width || columns < 2) return placed;
  const order = sizes.map((_, i) => i).sort((a, b) => placed.y[a] - placed.y[b]);
  const each = placed.height / columns;
  const x = placed.x.slice(), y = placed.y.slice();
  let height = 0, column = 0, top = 0;
  for (const i of order) {
    if (placed.y[i] - top > each && column + 1 < columns) { ++column; top = placed.y[i]; }
    x[i] = placed.x[i] + column * (placed.width + 60);
    y[i] = placed.y[i] - top;
    height = Math.max(height, y[i] + sizes[i].h);
  }
  return { width: (column + 1) * placed.width + column * 60, height, x, y };
}

function place(sizes: { w: number; h: number }[], edges: [number, number][], boxes: boolean): Placed {
  const key = `${boxes} ` + sizes.map((size) => `${size.w},${size.h}`).join(";") + "|" + edges.map((edge) => edge.join(",")).join(";");
  const old = known.get(key);
  if (old) return old;
  const graph = new dagre.graphlib.Graph({ directed: true });
  graph.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 30, marginx: 0, marginy: 0, ranker: sizes.length > 40 ? "tight-tree" : "network-simplex" });
  graph.setDefaultEdgeLabel(() => ({}));
  sizes.forEach((size, i) => graph.setNode(String(i), { width: size.w, height: size.h }));
  edges.forEach(([from, to]) => graph.setEdge(String(from), String(to)));
  dagre.layout(graph);
  const x = new Float64Array(sizes.length), y = new Float64Array(sizes.length);
  let width = 0, height = 0;
  sizes.forEach((size, i) => {
    const at = graph.node(String(i));
    x[i] = at.x - size.w / 2;
    y[i] = at.y - size.h / 2;
    width = Math.max(width, x[i] + size.w);
    height = Math.max(height, y[i] + size.h);
  });
  const placed = boxes ? inColumns(sizes, { width, height, x, y }) : { width, height, x, y };
  if (known.size > 2000) known.clear();
  known.set(key, placed);
  return placed;
}

function textWidth(title: string, detail: string): number {
  const chars = Math.min(42, Math.max(title.length * 1.1, detail.length * 0.86, 5));
  return Math.round((chars * CHAR + 18) / 8) * 8;
}

/** "Tensor[(1, 64, 56, 56), float32]" as "1×64×56×56 float32". */
export function shortType(type: string): string {
  const text = type.replace(/Tensor\[\(([^()]*)\), (\w+)\]/g, (_, dims: string, dtype: string) =>
    `${dims.trim() === "" ? "" : dims.replace(/,$/, "").split(",").map((dim) => dim.trim()).join("×") + " "}${dtype}`);
  return text.length > 48 ? text.slice(0, 47) + "…" : text;
}

export function layOut(graph: ShownGraph, open: Set<number>): Layout {
  const { stage, boxes } = graph;
  const itemOfNode = new Int32Array(stage.size).fill(-1), itemOfBox = new Int32Array(boxes.length).fill(-1);
  const items: Item[] = [];
  // Visible boxes, outer ones first.
  const order: number[] = [];
  const waiting = graph.roots.slice().reverse();
  while (waiting.length > 0) {
    const box = waiting.pop()!;
    if (boxes[box].total === 0) continue;
    order.push(box);
    if (open.has(box)) waiting.push(...boxes[box].boxes.slice().reverse());
  }
  for (const box of order) {
    const { title, total } = boxes[box];
    const isOpen = open.has(box);
    itemOfBox[box] = items.length;
    const detail = `${total} node${total === 1 ? "" : "s"}`;
    items.push({ x: 0, y: 0, w: textWidth(title, detail) + 12, h: NODE_HEIGHT + 8, node: -1, box, open: isOpen, title, detail });
    if (!isOpen) continue;
    for (const node of boxes[box].nodes) {
      itemOfNode[node] = items.length;
      const label = stage.label(node), type = shortType(stage.type(node));
      items.push({ x: 0, y: 0, w: textWidth(label, type), h: NODE_HEIGHT, node, box, open: false, title: label, detail: type });
    }
  }
  const shownAs = (node: number): number => {  // the item that a node is seen as
    if (itemOfNode[node] >= 0) return itemOfNode[node];
    for (let box = graph.boxOf[node]; box >= 0; box = boxes[box].parent) if (itemOfBox[box] >= 0) return itemOfBox[box];
    return -1;
  };
  const boxAround = (item: number): number => (items[item].node >= 0 ? items[item].box : boxes[items[item].box].parent);
  const lines: Line[] = [], seen = new Set<number>();
  const inBox = new Map<number, [number, number][]>();
  for (const { from, to } of graph.edges) {
    const a = shownAs(from), b = shownAs(to);
    if (a < 0 || b < 0 || a === b || seen.has(a * items.length + b)) continue;
    seen.add(a * items.length + b);
    lines.push({ from: a, to: b, type: shortType(stage.type(from)) });
    liftEdge(a, b, items, boxes, itemOfBox, boxAround, inBox);
  }
  // Inner boxes first: their size is that of an item of the outer one.
  const content = new Map<number, { children: number[]; placed: Placed }>();
  for (const box of order.slice().reverse()) {
    if (!open.has(box)) continue;
    const children = [...boxes[box].boxes.filter((inner) => itemOfBox[inner] >= 0).map((inner) => itemOfBox[inner]), ...boxes[box].nodes.map((node) => itemOfNode[node])];
    const local = new Map(children.map((child, i) => [child, i]));
    const unique = new Set<string>();
    const edges: [number, number][] = [];
    for (const [a, b] of inBox.get(box) ?? []) {
      const edge: [number, number] = [local.get(a)!, local.get(b)!];
      if (unique.has(edge.join())) continue;
      unique.add(edge.join());
      edges.push(edge);
    }
    const placed = place(children.map((child) => ({ w: items[child].w, h: items[child].h })), edges, boxes[box].nodes.length < boxes[box].boxes.length);
    content.set(box, { children, placed });
    const item = items[itemOfBox[box]];
    item.w = Math.max(item.w, placed.width + 2 * MARGIN);
    item.h = placed.height + HEAD + MARGIN;
  }
  let width = 0, height = 0;
  for (const root of order.filter((box) => boxes[box].parent < 0)) {
    const item = items[itemOfBox[root]];
    item.x = width;
    width += item.w + 40;
    height = Math.max(height, item.h);
  }
  for (const box of order) {
    const inside = content.get(box);
    if (inside === undefined) continue;
    const { x, y } = items[itemOfBox[box]];
    inside.children.forEach((child, i) => {
      items[child].x = x + MARGIN + inside.placed.x[i];
      items[child].y = y + HEAD + inside.placed.y[i];
    });
  }
  return { items, lines, width: Math.max(width - 40, 1), height: Math.max(height, 1), itemOfNode, itemOfBox };
}

// An edge between items of two boxes orders the parts of the innermost box that has both.
function liftEdge(a: number, b: number, items: Item[], boxes: { parent: number }[], itemOfBox: Int32Array,
  boxAround: (item: number) => number, inBox: Map<number, [number, number][]>): void {
  const chain = (item: number): number[] => {
    const out = [item];
    for (let box = boxAround(item); box >= 0; box = boxes[box].parent) out.push(itemOfBox[box]);
    return out.reverse();
  };
  const left = chain(a), right = chain(b);
  let i = 0;
  while (i < left.length && i < right.length && left[i] === right[i]) ++i;
  if (i === 0 || i >= left.length || i >= right.length) return;
  const box = items[left[i - 1]].box;
  const list = inBox.get(box);
  if (list) list.push([left[i], right[i]]); else inBox.set(box, [[left[i], right[i]]]);
}
