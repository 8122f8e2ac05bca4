// Elements. Texts of programs become text, never markup.

type Child = Node | string | null;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K, options: { class?: string; title?: string; id?: string; on?: (event: Event) => void } = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (options.class) made.className = options.class;
  if (options.title) made.title = options.title;
  if (options.id) made.id = options.id;
  if (options.on) made.addEventListener("click", options.on);
  for (const child of children) if (child !== null) made.append(child);
  return made;
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(...children.filter((child): child is Node | string => child !== null));
}

export function number(value: number | undefined | null, digits = 4): string {
  if (value === undefined || value === null) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  return String(Number(value.toPrecision(digits)));
}

export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= 1000 && unit + 1 < units.length) { value /= 1000; ++unit; }
  return `${number(value, 3)} ${units[unit]}`;
}

export function milliseconds(ms: number): string {
  return ms >= 100 ? `${ms.toFixed(0)} ms` : ms >= 1 ? `${ms.toFixed(2)} ms` : `${(ms * 1000).toFixed(ms >= 0.1 ? 0 : 1)} µs`;
}
