import { s } from "../base/dom";
import { quantity, signed } from "../base/format";
import { css } from "../base/theme";
import { fitted, textWidth } from "../parts/surface";
import { tipOn } from "../parts/tip";
import { label, newSvg, tickTexts } from "./frame";
import { linear } from "./scale";

export interface WaterfallStep {
  title: string;
  amount: number;
  detail?: string;
  /** By part, where the amount is made of several. */
  parts?: [string, number][];
}

const kPitch = 34;

/** From one value to another by what makes the difference; what is better is green, what is worse red. */
export function waterfall(from: [string, number], to: [string, number], steps: WaterfallStep[], unit: string, width: number, better: "lower" | "higher" | "neither" = "lower"): SVGSVGElement {
  const rows = steps.length + 2;
  const height = rows * kPitch + 22;
  const svg = newSvg(width, height);
  const narrow = width < 560;
  const left = narrow ? 0 : Math.min(220, Math.max(...[from[0], to[0], ...steps.map((step) => step.title)].map((text) => textWidth(text))) + 14);
  const reached = steps.reduce<number[]>((sums, step) => [...sums, sums[sums.length - 1]! + step.amount], [from[1]]);
  const [low, high] = [Math.min(...reached, to[1]), Math.max(...reached, to[1])];
  // Changes are small beside the whole: the axis starts where they can be seen, and says so.
  const start = low > 3 * (high - low) ? low - (high - low) : 0;
  const scale = linear(start, high, left, width - 84, narrow ? 3 : 6, unit, start > 0);
  const origin = start > 0 ? `axis starts at ${quantity(start, unit)}` : "";
  const free = width - (origin ? textWidth(origin, 11) + 8 : 0);
  tickTexts(scale.ticks, unit).forEach((text, i) => {
    const x = scale.at(scale.ticks[i]!);
    svg.append(s("line", { x1: x, x2: x, y1: 0, y2: height - 20, style: `stroke:${css("grid")}` }));
    if (x + textWidth(text, 11) / (i === 0 ? 1 : 2) <= free) svg.append(label(text, x, height - 9, { anchor: i === 0 ? "start" : "middle", size: 11 }));
  });
  const bar = (row: number, title: string, a: number, b: number, paint: string, text: string): SVGElement => {
    const [x1, x2] = [scale.at(Math.min(a, b)), scale.at(Math.max(a, b))];
    const y = row * kPitch + (narrow ? 16 : 5);
    const tall = narrow ? 16 : 22;
    svg.append(narrow ? label(title, 0, y - 8, { token: "text", size: 11 }) : label(fitted(title, left - 8), 0, y + tall / 2, { token: "text" }));
    const rect = s("rect", { x: x1.toFixed(1), y, width: Math.max(1, x2 - x1).toFixed(1), height: tall, style: `fill:${paint}` });
    svg.append(rect, label(text, x2 + 6, y + tall / 2, { token: "text", bold: true, size: 12 }));
    return rect;
  };
  bar(0, from[0], scale.domain[0], from[1], css("idle"), quantity(from[1], unit));
  steps.forEach((step, i) => {
    const mark = bar(i + 1, step.title, reached[i]!, reached[i + 1]!, css(better === "neither" || step.amount === 0 ? "series1" : (step.amount < 0) === (better === "lower") ? "sendrecv" : "allreduce"), signed(step.amount, unit));
    tipOn(mark, step.title, [["change", signed(step.amount, unit)], ...(step.parts ?? []).map(([name, value]): [string, string] => [name, signed(value, unit)])]);
    const y = (i + 1) * kPitch;
    svg.append(s("line", { x1: scale.at(reached[i]!), x2: scale.at(reached[i]!), y1: y - 7, y2: y + 5, style: `stroke:${css("muted")}` }));
  });
  bar(rows - 1, to[0], scale.domain[0], to[1], css("idle"), quantity(to[1], unit));
  if (origin) svg.append(label(origin, width, height - 9, { anchor: "end", size: 11 }));
  return svg;
}
