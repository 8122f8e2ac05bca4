// The graph that the canvas draws: nodes that compute, in boxes of functions, branches and layers that fold.
import { Stage, push } from "./document";

/** A box: a function, a branch, or a layer that the page made up so that large graphs fold. */
export interface Box {
  name: string;  // stable, for links
  title: string;
  parent: number;  // -1: none
  nodes: number[];
  boxes: number[];
  total: number;  // nodes in it, at any depth
  layer: boolean;
}

export interface ShownGraph {
  stage: Stage;
  boxes: Box[];
  roots: number[];
  /** The box of each node of the stage, -1 for those that are not drawn. */
  boxOf: Int32Array;
  edges: { from: number; to: number }[];
}

/** A box with more nodes is cut into layers, as often as it takes. */
const MOST_IN_BOX = 56;
const WHOLE_LAYER = 28;

const HIDDEN = new Set(["Let", "Literal", "Constant"]);

function isDrawn(stage: Stage, node: number): boolean {
  const kind = stage.kind(node);
  if (HIDDEN.has(kind)) return false;
  if (kind === "Function") return false;  // a box
  if (kind === "Var") return stage.resolve(node) === node && stage.usersOf(node).length > 0;
  return true;
}

export function buildGraph(stage: Stage): ShownGraph {
  const boxes: Box[] = [];
  const boxOf = new Int32Array(stage.size).fill(-1);
  const roots: number[] = [];
  const scopeBox = new Int32Array(stage.scopes.length).fill(-1);
  const graphs = stage.raw.kind !== "module";
  stage.scopes.forEach(([owner, parent], scope) => {
    if (parent < 0) {
      if (graphs) scopeBox[scope] = addBox(boxes, roots, `g${scope}`, `graph ${scope}`, -1);
      return;
    }
    const around = scopeBox[parent];
    const title = owner < 0 ? "?" : stage.kind(owner) === "Function" ? stage.label(owner) : `${stage.label(owner)} …`;
    scopeBox[scope] = addBox(boxes, roots, `s${scope}`, title, around);
  });
  for (let node = 0; node < stage.size; ++node) {
    if (!isDrawn(stage, node)) continue;
    let box = scopeBox[stage.nodes.scope[node]];
    if (box < 0) {  // beside the functions: what a function's own scope holds
      if (stage.kind(node) === "Var") box = boxOfUsers(stage, node, scopeBox);
      if (box < 0) continue;
    }
    boxOf[node] = box;
    boxes[box].nodes.push(node);
  }
  const edges = edgesOf(stage, boxOf);
  for (let box = 0, count = boxes.length; box < count; ++box) cutIntoLayers(stage, boxes, box, boxOf, edges);
  for (let box = boxes.length - 1; box >= 0; --box) {
    boxes[box].total = boxes[box].nodes.length;
  }
  countAll(boxes, roots);
  return { stage, boxes, roots, boxOf, edges };
}

// Parameters are at home where their function stands; they are drawn where they are used.
function boxOfUsers(stage: Stage, node: number, scopeBox: Int32Array): number {
  const binder = stage.nodes.binder[node];
  for (const user of stage.usersOf(node)) {
    const box = scopeBox[stage.nodes.scope[user]];
    if (box >= 0 && (binder < 0 || user !== binder)) return box;
  }
  return -1;
}

function addBox(boxes: Box[], roots: number[], name: string, title: string, parent: number, layer = false): number {
  const number = boxes.length;
  boxes.push({ name, title, parent, nodes: [], boxes: [], total: 0, layer });
  if (parent < 0) roots.push(number); else boxes[parent].boxes.push(number);
  return number;
}

function countAll(boxes: Box[], roots: number[]): void {
  const order: number[] = [], waiting = roots.slice();
  while (waiting.length > 0) { const box = waiting.pop()!; order.push(box); waiting.push(...boxes[box].boxes); }
  for (const box of order.reverse()) for (const inner of boxes[box].boxes) boxes[box].total += boxes[inner].total;
}

function edgesOf(stage: Stage, boxOf: Int32Array): { from: number; to: number }[] {
  const edges: { from: number; to: number }[] = [];
  for (let node = 0; node < stage.size; ++node) {
    if (boxOf[node] < 0) continue;
    const seen = new Set<number>();
    for (const operand of stage.nodes.operands[node]) {
      let from = stage.resolve(operand);
      // A function that is called or passed stands for the result of its body.
      for (let steps = 0; steps < 64 && stage.kind(from) === "Function" && stage.nodes.operands[from].length > 0; ++steps)
        from = stage.resolve(stage.nodes.operands[from][0]);
      if (from === node || boxOf[from] < 0 || seen.has(from)) continue;
      seen.add(from);
      edges.push({ from, to: node });
    }
  }
  return edges;
}

// The path of a node's name in a model's source: `"/encoder/layer.0/Add": …` gives encoder, layer.0.
function pathOf(stage: Stage, node: number): string[] {
  const place = stage.nodes.place[node];
  if (place < 0) return [];
  const found = /^"\/([^"\\]*)"/.exec(stage.model.placeText(place).slice(0, 300));
  return found === null ? [] : found[1].split("/").slice(0, -1);
}

function cutIntoLayers(stage: Stage, boxes: Box[], box: number, boxOf: Int32Array, edges: { from: number; to: number }[]): void {
  if (boxes[box].nodes.length <= MOST_IN_BOX) return;
  const paths = new Map<number, string[]>();
  for (const node of boxes[box].nodes) paths.set(node, pathOf(stage, node));
  cutByPath(boxes, box, boxOf, paths, 0);
  const crossing = crossings(stage.size, edges);
  for (let at = box; at < boxes.length; at = at === box ? nextLayer(boxes, box, boxes.length) : at + 1) {
    if (at === box || boxes[at].layer) cutByPlace(boxes, at, boxOf, crossing);
  }
}

function nextLayer(boxes: Box[], box: number, otherwise: number): number {
  for (let at = box + 1; at < boxes.length; ++at) if (boxes[at].layer && isInside(boxes, at, box)) return at;
  return otherwise;
}

function isInside(boxes: Box[], at: number, outer: number): boolean {
  for (; at >= 0; at = boxes[at].parent) if (at === outer) return true;
  return false;
}

function cutByPath(boxes: Box[], box: number, boxOf: Int32Array, paths: Map<number, string[]>, depth: number): void {
  if (boxes[box].nodes.length <= MOST_IN_BOX || depth > 8) return;
  const groups = new Map<string, number[]>();
  for (const node of boxes[box].nodes) push(groups, paths.get(node)![depth] ?? "", node);
  const named = [...groups.keys()].filter((name) => name !== "" && groups.get(name)!.length > 2);
  if (named.length === 0) return;
  if (named.length === 1 && groups.size === 1) {  // a common beginning is no layer
    cutByPath(boxes, box, boxOf, paths, depth + 1);
    return;
  }
  boxes[box].nodes = [...groups].filter(([name]) => !named.includes(name)).flatMap(([, nodes]) => nodes).sort((a, b) => a - b);
  for (const name of named) {
    const inner = addBox(boxes, [], `${boxes[box].name}.${name.replace(/\s/g, "_")}`, name, box, true);
    boxes[inner].nodes = groups.get(name)!;
    for (const node of boxes[inner].nodes) boxOf[node] = inner;
    cutByPath(boxes, inner, boxOf, paths, depth + 1);
  }
}

/** How many edges pass each node in the order of nodes. */
function crossings(size: number, edges: { from: number; to: number }[]): Int32Array {
  const count = new Int32Array(size + 1);
  for (const { from, to } of edges) { const low = Math.min(from, to), high = Math.max(from, to); ++count[low + 1]; --count[high]; }
  for (let i = 1; i <= size; ++i) count[i] += count[i - 1];
  return count;
}

// Pieces of some tens of nodes, cut where the fewest edges pass; pieces of pieces where there are many.
function cutByPlace(boxes: Box[], box: number, boxOf: Int32Array, crossing: Int32Array): void {
  if (boxes[box].nodes.length <= MOST_IN_BOX) return;
  const nodes = boxes[box].nodes.slice().sort((a, b) => a - b);
  const pieces: number[][] = [];
  for (let begin = 0; begin < nodes.length;) {
    let end = Math.min(nodes.length, begin + WHOLE_LAYER);
    if (nodes.length - begin > MOST_IN_BOX) {
      for (let at = begin + WHOLE_LAYER / 2; at <= begin + MOST_IN_BOX - 4; ++at)
        if (crossing[nodes[at]] < crossing[nodes[Math.min(end, nodes.length - 1)]]) end = at;
    } else {
      end = nodes.length;
    }
    pieces.push(nodes.slice(begin, end));
    begin = end;
  }
  boxes[box].nodes = [];
  const level = (begin: number, end: number, parent: number, name: string): void => {
    const count = end - begin;
    if (count <= MOST_IN_BOX) {
      for (let i = begin; i < end; ++i) {
        const inner = addBox(boxes, [], `${name}.${i}`, `part ${i + 1}`, parent, true);
        boxes[inner].nodes = pieces[i];
        for (const node of pieces[i]) boxOf[node] = inner;
      }
      return;
    }
    const parts = Math.ceil(count / WHOLE_LAYER);
    const size = parts > MOST_IN_BOX ? Math.ceil(count / WHOLE_LAYER) : WHOLE_LAYER;
    for (let i = begin; i < end; i += size) {
      const inner = addBox(boxes, [], `${name}-${i}`, `parts ${i + 1} to ${Math.min(end, i + size)}`, parent, true);
      level(i, Math.min(end, i + size), inner, name);
    }
  };
  level(0, pieces.length, box, boxes[box].name);
}

/** The boxes that are open at first: all of small graphs, the outer ones of large graphs. */
export function openAtFirst(graph: ShownGraph): Set<number> {
  const open = new Set<number>();
  let shown = 0;
  const waiting = graph.roots.slice();
  for (let i = 0; i < waiting.length; ++i) {
    const box = graph.boxes[waiting[i]];
    const here = box.nodes.length + box.boxes.length;
    if (i > 0 && (shown + here > 220 || isPrimitive(graph, waiting[i]))) continue;
    shown += here;
    open.add(waiting[i]);
    waiting.push(...box.boxes);
  }
  return open;
}

function isPrimitive(graph: ShownGraph, box: number): boolean {
  const { boxes } = graph;
  return boxes[box].parent >= 0 && !boxes[box].layer && boxes[box].title === "fn" && graph.stage.size > 300;
}
