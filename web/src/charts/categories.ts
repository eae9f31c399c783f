import { s } from "../base/dom";
import { css } from "../base/theme";
import { fitted, textWidth } from "../parts/surface";
import { label, type Box } from "./frame";

/** How categories are written below an axis. */
export interface CategoryLayout {
  /** With the axis' title. */
  height: number;
  /** What turned texts need left of the first category's middle. */
  reach: number;
  way: "flat" | "some" | "wrapped" | "turned" | "numbered";
  texts: string[];
  /** Neighbours whose texts start with the same word: it is written once, below them. */
  heads: { text: string; from: number; to: number }[];
  /** The heads need two rows. */
  staggered: boolean;
  /** Below the axis: what its numbers stand for, in lines. */
  key: string[];
}

const kSize = 11;
const kLine = 13;
const kLines = 4;
const kLongest = 170;
const kSlant = Math.SQRT1_2;
/** Above turned texts, and what their height takes. */
const kTurned = 20;

/** "GPT3-175B TP8-PP4", "GPT3-175B TP4-PP8": the first word, where it is shared by neighbours. */
function headsOf(categories: string[]): CategoryLayout["heads"] {
  const heads: CategoryLayout["heads"] = [];
  for (const [i, text] of categories.entries()) {
    const cut = text.indexOf(" ");
    if (cut <= 0) return [];
    const last = heads[heads.length - 1];
    if (last && last.text === text.slice(0, cut)) last.to = i;
    else heads.push({ text: text.slice(0, cut), from: i, to: i });
  }
  return categories.length > 1 && heads.length <= 0.7 * categories.length ? heads : [];
}

/** At most kLines of words; nothing where that is not enough. */
export function wrapped(text: string, width: number, most = kLines): string[] | undefined {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const longer = lines.length > 0 ? `${lines[lines.length - 1]} ${word}` : word;
    if (lines.length > 0 && textWidth(longer, kSize) <= width) lines[lines.length - 1] = longer;
    else if (textWidth(word, kSize) > width || lines.length === most) return undefined;
    else lines.push(word);
  }
  return lines;
}

const kPlain = (texts: string[]): Pick<CategoryLayout, "texts" | "heads" | "staggered" | "key"> => ({ texts, heads: [], staggered: false, key: [] });

/** More texts than this are no key that anyone reads. */
const kMostNumbers = 40;

/** Numbers at the axis, and the whole texts below it, as wide as the picture. */
function numbered(categories: string[], width: number): CategoryLayout {
  const key = categories.flatMap((text, i) => (wrapped(`${i + 1}: ${text}`, width - 4, 9) ?? [`${i + 1}: ${fitted(text, width - 30, kSize)}`]));
  return { height: 40 + (key.length + 1) * kLine, reach: 0, way: "numbered", texts: categories.map((_, i) => String(i + 1)), heads: [], staggered: false, key };
}

/** `room`: what is left of the first category's middle, as far as turned texts may reach; `width`: of the picture. */
export function categoryLayout(categories: string[], slot: number, room: number, width: number): CategoryLayout {
  const widest = Math.max(...categories.map((text) => textWidth(text, kSize)), 0);
  if (widest <= slot - 4) return { height: 40, reach: 0, way: "flat", ...kPlain(categories) };
  if (categories.every((text) => text.length <= 3)) return { height: 40, reach: 0, way: "some", ...kPlain(categories) };
  const lines = categories.map((text) => wrapped(text, slot - 6)?.length ?? Infinity);
  if (Math.max(...lines) <= kLines) return { height: 40 + (Math.max(...lines) - 1) * kLine, reach: 0, way: "wrapped", ...kPlain(categories) };
  const heads = headsOf(categories);
  const texts = heads.length > 0 ? categories.map((text) => text.slice(text.indexOf(" ") + 1)) : categories;
  const long = Math.min(kLongest, Math.max(...texts.map((text) => textWidth(text, kSize))));
  const staggered = heads.some((head) => textWidth(head.text, kSize) > (head.to - head.from + 1) * slot - 4);
  const cut = texts.some((text, i) => textWidth(text, kSize) > Math.min(kLongest, (room + i * slot) / kSlant - 2));
  if (cut && categories.length <= kMostNumbers && slot > 14) return numbered(categories, width);
  const below = heads.length === 0 ? 0 : (staggered ? 2 : 1) * kLine + 4;
  return { height: kTurned + long * kSlant + below + 22, reach: long * kSlant + 4, way: "turned", texts, heads, staggered, key: [] };
}

export function categoryAxis(svg: SVGSVGElement, layout: CategoryLayout, centre: (index: number) => number, slot: number, box: Box, title: string): void {
  const widest = Math.max(...layout.texts.map((text) => textWidth(text, kSize)), 0);
  const every = layout.way === "turned" ? Math.max(1, Math.ceil(13 / slot)) : layout.way === "some" ? Math.ceil((widest + 6) / slot) : 1;
  layout.texts.forEach((text, i) => {
    if (i % every !== 0) return;
    const [x, y] = [centre(i), box.bottom + 12];
    if (layout.way === "turned") {
      const mark = label(fitted(text, Math.min(kLongest, x / kSlant - 2), kSize), x + 3, y - 2, { anchor: "end", size: kSize });
      mark.setAttribute("transform", `rotate(-45 ${(x + 3).toFixed(1)} ${(y - 2).toFixed(1)})`);
      svg.append(mark);
    } else {
      const lines = layout.way === "wrapped" ? wrapped(text, slot - 6)! : [text];
      lines.forEach((line, n) => svg.append(label(line, x, y + n * kLine, { anchor: "middle", size: kSize })));
    }
  });
  if (layout.heads.length > 0) drawHeads(svg, layout, centre, slot, box);
  layout.key.forEach((line, i) => svg.append(label(line, 0, box.bottom + 30 + i * kLine, { size: kSize })));
  svg.append(label(title, (box.left + box.right) / 2, box.bottom + layout.height - 8, { anchor: "middle", size: kSize }));
}

/** In two rows where one has no room for all. */
function drawHeads(svg: SVGSVGElement, layout: CategoryLayout, centre: (index: number) => number, slot: number, box: Box): void {
  const narrow = layout.staggered;
  const y = box.bottom + layout.height - 22 - (narrow ? 2 : 1) * kLine - 2;
  layout.heads.forEach((head, i) => {
    const [x1, x2] = [centre(head.from) - slot * 0.42, centre(head.to) + slot * 0.42];
    svg.append(s("line", { x1, x2, y1: y, y2: y, style: `stroke:${css("muted")}` }));
    const beside = narrow ? 2 * Math.min(centre(head.from) - (i > 1 ? centre(layout.heads[i - 2]!.to) : 0), (i + 2 < layout.heads.length ? centre(layout.heads[i + 2]!.from) : box.right + 12) - centre(head.to)) * 0.5 : 0;
    const room = x2 - x1 + beside;
    const text = fitted(head.text, room, kSize);
    const half = textWidth(text, kSize) / 2;
    const x = Math.max(half, Math.min((x1 + x2) / 2, box.right + 8 - half));
    svg.append(label(text, x, y + 9 + (narrow && i % 2 === 1 ? kLine : 0), { anchor: "middle", size: kSize }));
  });
}
