import { s } from "../base/dom";
import { quantity } from "../base/format";
import { colour, css, inkOn, type Token } from "../base/theme";
import { textWidth } from "../parts/surface";
import { tipOn } from "../parts/tip";
import { newSvg } from "./frame";

/** What a stretch of the picture stands for: its own value is the sum of what lies below it. */
export interface Frame {
  name: string;
  /** Names from outside inwards, with ";" between them; "" is all. */
  path: string;
  value: number;
  /** The same of another job; 0 where that has none. Absent: there is no other. */
  other?: number;
  children: Frame[];
}

/** Frames of folded stacks, "a;b;c" each with its value; the widest first, but for `inOrder`, which stay as they come. */
export function framesOf(stacks: string[], values: number[], all: string, inOrder: (depth: number) => boolean): Frame {
  const root: Frame = { name: all, path: "", value: 0, children: [] };
  stacks.forEach((stack, i) => {
    let frame = root;
    root.value += values[i]!;
    for (const name of stack.split(";")) {
      let next = frame.children.find((child) => child.name === name);
      if (!next) frame.children.push((next = { name, path: frame.path ? `${frame.path};${name}` : name, value: 0, children: [] }));
      next.value += values[i]!;
      frame = next;
    }
  });
  const sort = (frame: Frame, depth: number): void => {
    if (!inOrder(depth)) frame.children.sort((a, b) => b.value - a.value);
    for (const child of frame.children) sort(child, depth + 1);
  };
  sort(root, 0);
  return root;
}

/** Gives every frame the value that the other job has at the same place. */
export function beside(frame: Frame, other: Frame | undefined): void {
  frame.other = other?.value ?? 0;
  for (const child of frame.children) beside(child, other?.children.find((one) => one.name === child.name));
}

/** The frames on the way to a path, the root first; as far as there are any. */
export function frameAt(root: Frame, path: string): Frame[] {
  const way = [root];
  for (const name of path ? path.split(";") : []) {
    const next = way[way.length - 1]!.children.find((child) => child.name === name);
    if (!next) break;
    way.push(next);
  }
  return way;
}

const kRow = 22;
const kLeast = 0.75;
/** Frames that the keyboard reaches: of narrower ones the table tells. */
const kReachable = 56;

const depthOf = (frame: Frame): number => 1 + Math.max(0, ...frame.children.map(depthOf));
/** How much more or less than the other job, from -1 to 1: a change by half fills the colour. */
const changeOf = (frame: Frame): number => (frame.other ? Math.max(-1, Math.min(1, (2 * (frame.value - frame.other)) / frame.other)) : 1);

interface FlameOptions {
  unit: string;
  token: (frame: Frame) => Token;
  title: (frame: Frame) => string;
  /** The frame that takes the whole width. */
  focus: string;
  open: (path: string) => void;
}

/** Frames under each other, the whole on top, as wide as their share; what is opened takes the whole width. */
export function flame(root: Frame, width: number, o: FlameOptions): SVGSVGElement {
  const way = frameAt(root, o.focus);
  const focus = way[way.length - 1]!;
  const svg = newSvg(width, (way.length - 1 + depthOf(focus)) * kRow);
  const draw = (frame: Frame, x: number, own: number, row: number): void => {
    if (own < kLeast) return;
    svg.append(mark(frame, root, x, own, row * kRow, o));
    if (row < way.length - 1) return draw(way[row + 1]!, 0, width, row + 1);
    let from = x;
    for (const child of frame.children) {
      const wide = frame.value > 0 ? (own * child.value) / frame.value : 0;
      draw(child, from, wide, row + 1);
      from += wide;
    }
  };
  draw(root, 0, width, 0);
  return svg;
}

const kSize = 11;
/** As many whole words as there is room for: what is read is then what it can be called by. */
function wordsThatFit(title: string, limit: number): string {
  const all = title.split(" ");
  for (let count = all.length; count > 0; --count) {
    const text = all.slice(0, count).join(" ") + (count < all.length ? " …" : "");
    if (textWidth(text, kSize) <= limit) return text;
  }
  return "";
}

function mark(frame: Frame, root: Frame, x: number, width: number, y: number, o: FlameOptions): SVGElement {
  const title = o.title(frame);
  const share = root.value > 0 ? quantity(frame.value / root.value, "1") : "";
  const compared = frame.other !== undefined;
  const change = compared ? changeOf(frame) : 0;
  const token = compared ? (change > 0 ? "bad" : "good") : o.token(frame);
  const opacity = compared ? 0.08 + 0.8 * Math.abs(change) : 1;
  const fill = frame.path === "" && !compared ? "raised" : token;
  const reachable = width >= kReachable;
  const lines: [string, string][] = [[o.unit === "s" ? "time" : "energy", quantity(frame.value, o.unit)], ["of the step", share]];
  if (compared) lines.push(["in the other", quantity(frame.other, o.unit)]);
  const group = s("g", { role: reachable ? "button" : undefined, tabindex: reachable ? 0 : undefined, class: "frame", "data-path": frame.path,
    "aria-label": reachable ? `${title}: ${lines.map((line) => line.join(" ")).join(", ")}` : undefined });
  const rect = s("rect", { x: x.toFixed(2), y, width: Math.max(0.5, width - 0.75).toFixed(2), height: kRow - 1, style: `fill:${css(fill)};fill-opacity:${opacity.toFixed(2)}` });
  group.append(tipOn(rect, title, lines, reachable ? group : undefined));
  if (width > 30) {
    const ink = compared || fill === "raised" ? css("text") : inkOn(colour(fill));
    group.append(s("text", { x: (x + 4).toFixed(1), y: y + kRow / 2, "font-size": kSize, "dominant-baseline": "central", "pointer-events": "none", style: `fill:${ink}` }, wordsThatFit(title, width - 8)));
  }
  group.addEventListener("click", () => o.open(frame.path));
  group.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    o.open(frame.path);
  });
  return group;
}
