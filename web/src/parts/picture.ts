import { h, newId } from "../base/dom";
import { onTheme, theme } from "../base/theme";
import { legendOver } from "./legend";
import { saveSvg } from "./save_svg";
import { table, type TableData } from "./table";

export interface Picture {
  title: string;
  /** Of a panel: the figure that it belongs to; its files are named after both. */
  of?: string;
  /** What to see in it, what to do next. */
  note?: string;
  /** The text alternative: what the picture says, in words and numbers. */
  summary: string;
  /** The numbers behind it; a function where they are many or change with what is chosen. */
  table: TableData | (() => TableData);
  /** Fills the host for a width in CSS pixels; called again when width or colours change. */
  draw: (host: HTMLElement, width: number) => void;
  /** The same as SVG; absent where `draw` makes one. */
  svg?: (width: number) => SVGSVGElement;
  controls?: HTMLElement[];
  /** Between the note and the drawing. */
  before?: (HTMLElement | null)[];
  /** The host takes part itself (links, keys): then it is a group, not an image. */
  active?: boolean;
  /** Level of the heading. */
  level?: 3 | 4;
  /** Drawn when it comes near the window, or to paper: where there are many. */
  later?: boolean;
}

const drawn = new WeakMap<Element, () => void>();
const widths = new ResizeObserver((entries) => {
  for (const entry of entries) drawn.get(entry.target)?.();
});
const waiting = new WeakSet<Element>();
const near = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    waiting.delete(target);
    drawn.get(target)?.();
  }
}, { rootMargin: "600px 0px" });
onTheme(() => {
  for (const host of document.querySelectorAll(".drawing")) drawn.get(host)?.();
});

/** Draws again what a choice has changed. */
export function redraw(host: HTMLElement): void {
  host.dataset.drawn = "";
  drawn.get(host)?.();
}

/** A picture with its heading, its text alternative, its numbers as a table and the file it can be saved as. */
export function picture(p: Picture): HTMLElement {
  const heading = newId("picture");
  const title = p.of ? `${p.of}, ${p.title}` : p.title;
  const host = h("div", { class: "drawing", role: p.active ? "group" : "img", "aria-label": `${title}. ${p.summary}` });
  drawn.set(host, () => {
    const width = Math.floor(host.clientWidth);
    const state = `${width} ${theme()}`;
    if (width <= 0 || host.dataset.drawn === state || (waiting.has(host) && !document.documentElement.classList.contains("printing"))) return;
    host.classList.remove("later");
    host.dataset.drawn = state;
    p.draw(host, width);
  });
  const numbers = h("div", { class: "numbers", hidden: true });
  const show = h("button", { type: "button", class: "quiet show-table", "aria-expanded": "false", click: () => {
    numbers.hidden = !numbers.hidden;
    show.setAttribute("aria-expanded", String(!numbers.hidden));
    if (!numbers.hidden) numbers.replaceChildren(table(title, typeof p.table === "function" ? p.table() : p.table));
  } }, "Table");
  const save = h("button", { type: "button", class: "quiet save-svg", click: () => {
    waiting.delete(host);
    drawn.get(host)?.();
    const made = p.svg?.(Math.max(640, host.clientWidth)) ?? host.querySelector("svg");
    if (made) saveSvg(made, title, legendOver(element));
  } }, "SVG");
  show.setAttribute("aria-label", `Show ${title} as table`);
  save.setAttribute("aria-label", `Save ${title} as SVG`);
  const element = h("figure", { class: "picture", "aria-labelledby": heading },
    h("div", { class: "picture-head" },
      h(p.level === 4 ? "h4" : "h3", { id: heading }, p.title),
      h("div", { class: "tools" }, ...(p.controls ?? []), show, save)),
    p.note ? h("p", { class: "note" }, p.note) : null,
    ...(p.before ?? []), host, numbers);
  if (p.later) {
    host.classList.add("later");
    waiting.add(host);
    near.observe(host);
  }
  widths.observe(host);
  return element;
}
