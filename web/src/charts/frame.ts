import { s } from "../base/dom";
import { quantity } from "../base/format";
import { css } from "../base/theme";
import { textWidth } from "../parts/surface";
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

const kAtTicks = new Set(["", "1", "%", "bytes", "C", "°C", "K", "s", "W", "J", "B", "GB", "GB/s", "MJ"]);
/** Units that are no short sign with a prefix stand once, in the axis' title. */
export const namedOnce = (unit: string): boolean => !kAtTicks.has(unit);
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
    const half = textWidth(texts[i]!, 11) / 2;
    const [x, middle] = [scale.at(tick), Math.min(scale.at(tick), box.right + 12 - half)];
    svg.append(s("line", { x1: x, x2: x, y1: box.bottom, y2: box.bottom + 4, style: `stroke:${css("line")}` }));
    if (middle - half < free) return;
    free = middle + half + 6;
    svg.append(label(texts[i]!, middle, box.bottom + 14, { anchor: "middle", size: 11 }));
  });
  svg.append(label(titleWith(title, unit), (box.left + box.right) / 2, box.bottom + 31, { anchor: "middle", size: 11 }));
}
