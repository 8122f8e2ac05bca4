// The difference of two texts, line by line.

export interface Row { left: number; right: number }  // -1: nothing on this side

/** Steps of the search; texts that differ in more are replaced as a whole between what they share. */
const MOST = 1500;

/** Numbers of bound nodes change when a line is added: they are no difference. */
export function plain(line: string): string { return line.replace(/%\d+/g, "%_").replace(/Constant\]\[\d+\]/g, "Constant][_]"); }

/** Pairs of lines, in order; a pair with both sides is equal up to numbers of nodes. */
export function diff(left: string[], right: string[]): Row[] {
  const ids = new Map<string, number>();
  const number = (line: string): number => {
    const key = plain(line);
    let id = ids.get(key);
    if (id === undefined) ids.set(key, (id = ids.size));
    return id;
  };
  const a = left.map(number), b = right.map(number);
  let begin = 0;
  while (begin < a.length && begin < b.length && a[begin] === b[begin]) ++begin;
  let endA = a.length, endB = b.length;
  while (endA > begin && endB > begin && a[endA - 1] === b[endB - 1]) { --endA; --endB; }
  const rows: Row[] = [];
  for (let i = 0; i < begin; ++i) rows.push({ left: i, right: i });
  rows.push(...between(a, b, begin, endA, begin, endB));
  for (let i = endA; i < a.length; ++i) rows.push({ left: i, right: i - endA + endB });
  return pairUp(rows);
}

// Myers' greedy search.
function between(a: number[], b: number[], a0: number, a1: number, b0: number, b1: number): Row[] {
  const n = a1 - a0, m = b1 - b0;
  const most = Math.min(n + m, MOST), offset = most + 1;
  const reach = new Int32Array(2 * most + 3);
  const trace: Int32Array[] = [];
  for (let d = 0; d <= most; ++d) {
    trace.push(reach.slice(offset - d - 1, offset + d + 2));
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && reach[offset + k - 1] < reach[offset + k + 1]) ? reach[offset + k + 1] : reach[offset + k - 1] + 1;
      let y = x - k;
      while (x < n && y < m && a[a0 + x] === b[b0 + y]) { ++x; ++y; }
      reach[offset + k] = x;
      if (x >= n && y >= m) return back(trace, d, n, m, a0, b0);
    }
  }
  const rows: Row[] = [];
  for (let i = a0; i < a1; ++i) rows.push({ left: i, right: -1 });
  for (let i = b0; i < b1; ++i) rows.push({ left: -1, right: i });
  return rows;
}

function back(trace: Int32Array[], d: number, n: number, m: number, a0: number, b0: number): Row[] {
  const rows: Row[] = [];
  let x = n, y = m;
  for (; d >= 0; --d) {
    const reach = trace[d], middle = d + 1, k = x - y;
    const down = k === -d || (k !== d && reach[middle + k - 1] < reach[middle + k + 1]);
    const before = down ? k + 1 : k - 1;
    const x0 = d === 0 ? 0 : reach[middle + before], y0 = x0 - before;
    while (x > 0 && y > 0 && (d === 0 || (x > x0 && y > y0))) { --x; --y; rows.push({ left: a0 + x, right: b0 + y }); }
    if (d === 0) break;
    if (down) rows.push({ left: -1, right: b0 + y0 }); else rows.push({ left: a0 + x0, right: -1 });
    x = x0; y = y0;
  }
  return rows.reverse();
}

// Removed lines stand beside the added ones that follow them.
function pairUp(rows: Row[]): Row[] {
  const out: Row[] = [];
  for (let i = 0; i < rows.length;) {
    if (rows[i].left >= 0 && rows[i].right >= 0) { out.push(rows[i++]); continue; }
    const removed: number[] = [], added: number[] = [];
    for (; i < rows.length && (rows[i].left < 0 || rows[i].right < 0); ++i) {
      if (rows[i].left >= 0) removed.push(rows[i].left); else added.push(rows[i].right);
    }
    for (let k = 0; k < Math.max(removed.length, added.length); ++k) out.push({ left: removed[k] ?? -1, right: added[k] ?? -1 });
  }
  return out;
}
