import { s } from "../base/dom";
import { quantity } from "../base/format";
import { colour, css, inkOn, type Token } from "../base/theme";
import { fitted, textWidth } from "../parts/surface";
import { tipOn } from "../parts/tip";
import { label, newSvg, tickTexts } from "./frame";
import { linear } from "./scale";

export interface StackPart {
  title: string;
  token: Token;
  value: number;
}
export interface StackRow {
  label: string;
  parts: StackPart[];
  /** 90 % interval of the sum. */
  low?: number;
  high?: number;
  /** A line that the sum must not cross. */
  limit?: number;
  /** Where the bar leads. */
  href?: string;
}
export interface StackOptions {
  unit: string;
  /** What the line at `limit` is: "capacity". */
  limitTitle?: string;
  /** Shares of the sum inside the bars in place of values. */
  shares?: boolean;
}

const kBar = 26;
const kNarrow = 560;

/** Horizontal stacked bars: one bar a row, its sum at its end. */
export function stackedBars(rows: StackRow[], width: number, o: StackOptions): SVGSVGElement {
  const narrow = width < kNarrow;
  const sums = rows.map((row) => row.parts.reduce((sum, part) => sum + part.value, 0));
  const totals = sums.map((sum) => quantity(sum, o.unit));
  const labels = narrow ? 0 : Math.min(190, Math.max(...rows.map((row) => textWidth(row.label))) + 12);
  const right = Math.max(...totals.map((total) => textWidth(total, 12, true))) + 12;
  const ranges = rows.some((row) => row.low !== undefined);
  const pitch = kBar + (narrow ? 24 : 10) + (ranges ? 8 : 0);
  const top = rows.some((row) => row.limit !== undefined) ? 18 : 2;
  const height = top + rows.length * pitch + 20;
  const svg = newSvg(width, height);
  const most = Math.max(...sums, ...rows.map((row) => Math.max(row.limit ?? 0, row.high ?? 0)), 1e-30);
  const scale = linear(0, most, labels, width - right, narrow ? 4 : 8, o.unit, true);
  for (const tick of scale.ticks) {
    const x = scale.at(tick);
    svg.append(s("line", { x1: x, x2: x, y1: top, y2: height - 18, style: `stroke:${css("grid")}` }));
  }
  tickTexts(scale.ticks, o.unit).forEach((text, i) => {
    const x = scale.at(scale.ticks[i]!);
    const anchor = i === 0 && narrow ? "start" : "middle";
    svg.append(label(text, x, height - 8, { anchor, size: 11 }));
  });
  rows.forEach((row, i) => {
    const y = top + i * pitch + (narrow ? 18 : 4);
    const name = narrow ? label(row.label, 0, y - 9, { token: "text" }) : label(fitted(row.label, labels - 8), 0, y + kBar / 2, { token: "text" });
    svg.append(row.href ? s("a", { href: row.href }, name) : name, s("g", {}, ...segments(row, sums[i]!, y, scale.at, o)));
    svg.append(label(totals[i]!, scale.at(sums[i]!) + 8, y + kBar / 2, { token: "text", bold: true }));
    if (row.low !== undefined && row.high !== undefined) svg.append(whisker(scale.at(row.low), scale.at(row.high), y + kBar + 5, row, o.unit));
  });
  limits(svg, rows, scale.at, top, pitch, narrow, o);
  return svg;
}

function segments(row: StackRow, sum: number, y: number, at: (value: number) => number, o: StackOptions): SVGElement[] {
  let from = 0;
  const made: SVGElement[] = [];
  for (const part of row.parts) {
    if (!(part.value > 0)) continue;
    const [x1, x2] = [at(from), at(from + part.value)];
    from += part.value;
    const share = quantity(part.value / sum, "1");
    const rect = s("rect", { x: x1.toFixed(2), y, width: Math.max(0.5, x2 - x1 - 1).toFixed(2), height: kBar, style: `fill:${css(part.token)}` });
    made.push(tipOn(rect, row.label, [[part.title, quantity(part.value, o.unit)], ["share", share]]));
    const text = o.shares ? share : quantity(part.value, o.unit);
    if (textWidth(text, 11) + 8 > x2 - x1) continue;
    made.push(s("text", { x: ((x1 + x2) / 2).toFixed(1), y: y + kBar / 2, "font-size": 11, "text-anchor": "middle", "dominant-baseline": "central",
      "pointer-events": "none", fill: inkOn(colour(part.token)) }, text));
  }
  return made;
}

/** Below the bar, so that it crosses no number. */
function whisker(low: number, high: number, y: number, row: StackRow, unit: string): SVGElement {
  const style = `stroke:${css("muted")};stroke-width:1.5`;
  const mark = s("g", {}, s("rect", { x: low, y: y - 4, width: high - low, height: 8, fill: "transparent" }), s("line", { x1: low, x2: high, y1: y, y2: y, style }),
    ...[low, high].map((x) => s("line", { x1: x, x2: x, y1: y - 3, y2: y + 3, style })));
  return tipOn(mark, row.label, [["90 % interval", `${quantity(row.low, unit)} to ${quantity(row.high, unit)}`]]);
}

function limits(svg: SVGSVGElement, rows: StackRow[], at: (value: number) => number, top: number, pitch: number, narrow: boolean, o: StackOptions): void {
  rows.forEach((row, i) => {
    if (row.limit === undefined) return;
    const [x, y] = [at(row.limit), top + i * pitch + (narrow ? 18 : 4)];
    svg.append(s("line", { x1: x, x2: x, y1: y - 4, y2: y + kBar + 4, style: `stroke:${css("bad")};stroke-width:2` }));
    if (i === 0) svg.append(label(`${o.limitTitle ?? "limit"} ${quantity(row.limit, o.unit)}`, x + 4, 8, { anchor: "end", size: 11, token: "text" }));
  });
}
