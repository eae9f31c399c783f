import { s } from "../base/dom";
import { quantity } from "../base/format";
import { css } from "../base/theme";
import { fitted, textWidth } from "../parts/surface";
import type { Scale } from "./scale";

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export const newSvg = (width: number, height: number): SVGSVGElement =>
  s("svg", { viewBox: `0 0 ${width} ${height}`, width, height });

interface LabelOptions {
  anchor?: string;
  size?: number;
  token?: "text" | "muted";
  bold?: boolean;
}
export function label(text: string, x: number, y: number, o: LabelOptions = {}): SVGTextElement {
  return s("text", { x: x.toFixed(1), y: y.toFixed(1), "font-size": o.size ?? 12, "text-anchor": o.anchor, "dominant-baseline": "central",
    "font-weight": o.bold ? 600 : undefined, style: `fill:${css(o.token ?? "muted")}` }, text);
}

/** What stands at the ticks of an axis. */
export function tickTexts(ticks: number[], unit: string): string[] {
  return ticks.map((tick) => quantity(tick, namedOnce(unit) ? "" : unit).replace(/\.0 (%|°C|K)$/, " $1"));
}

/** Units without prefixes stand once, in the axis' title. */
const namedOnce = (unit: string): boolean => unit.includes("/") || unit === "MHz";
const titleWith = (title: string, unit: string): string => (namedOnce(unit) && !title.includes(unit) ? `${title} (${unit})` : title);

/** Space that the labels of a vertical axis need. */
export const axisWidth = (texts: string[]): number => Math.ceil(Math.max(...texts.map((text) => textWidth(text, 11)), 12)) + 10;

export function yAxis(svg: SVGSVGElement, scale: Scale, box: Box, unit: string, title: string): void {
  const texts = tickTexts(scale.ticks, unit);
  scale.ticks.forEach((tick, i) => {
    const y = scale.at(tick);
    svg.append(s("line", { x1: box.left, x2: box.right, y1: y, y2: y, style: `stroke:${css(tick === 0 ? "line" : "grid")}` }),
      label(texts[i]!, box.left - 6, y, { anchor: "end", size: 11 }));
  });
  svg.append(label(titleWith(title, unit), 0, 8, { size: 11 }));
}

export function xAxis(svg: SVGSVGElement, scale: Scale, box: Box, unit: string, title: string): void {
  const texts = tickTexts(scale.ticks, unit);
  let free = -Infinity;
  scale.ticks.forEach((tick, i) => {
    const [x, half] = [scale.at(tick), textWidth(texts[i]!, 11) / 2];
    svg.append(s("line", { x1: x, x2: x, y1: box.bottom, y2: box.bottom + 4, style: `stroke:${css("line")}` }));
    if (x - half < free) return;
    free = x + half + 6;
    svg.append(label(texts[i]!, Math.min(x, box.right + 12 - half), box.bottom + 14, { anchor: "middle", size: 11 }));
  });
  svg.append(label(titleWith(title, unit), (box.left + box.right) / 2, box.bottom + 31, { anchor: "middle", size: 11 }));
}

/** Longer category names are cut when they stand aslant. */
const kLongest = 170;

/** How categories are written below an axis, how much height that takes, and how far the first reaches to the left. */
export function categoryHeight(categories: string[], slot: number): { height: number; reach: number; turned: boolean } {
  const widths = categories.map((text) => Math.min(kLongest, textWidth(text, 11)));
  const widest = Math.max(...widths, 0);
  if (widest <= slot - 4) return { height: 40, reach: 0, turned: false };
  return { height: widest * 0.72 + 40, reach: (widths[0] ?? 0) * 0.72 + 4 - slot / 2, turned: true };
}

export function categoryAxis(svg: SVGSVGElement, categories: string[], centre: (index: number) => number, slot: number, box: Box, title: string): void {
  const { turned, height } = categoryHeight(categories, slot);
  const every = turned ? Math.max(1, Math.ceil(13 / slot)) : 1;
  categories.forEach((text, i) => {
    if (i % every !== 0) return;
    const [x, y] = [centre(i), box.bottom + 12];
    const mark = label(fitted(text, turned ? kLongest : slot, 11), x, y, { anchor: turned ? "end" : "middle", size: 11 });
    if (turned) mark.setAttribute("transform", `rotate(-45 ${x} ${y})`);
    svg.append(mark);
  });
  svg.append(label(title, (box.left + box.right) / 2, box.bottom + height - 8, { anchor: "middle", size: 11 }));
}
