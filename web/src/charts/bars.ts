import type { Figure } from "../document";
import { s } from "../base/dom";
import { css } from "../base/theme";
import { categoryAxis, categoryLayout } from "./categories";
import { axisWidth, newSvg, tickTexts, yAxis, type Box } from "./frame";
import type { Shared } from "./panels";
import { linked, missing, sign, type PointLinks } from "./plot";
import { linear, logarithmic, type Scale } from "./scale";

/** Upright bars over categories, side by side ("bar") or on top of each other ("stack"); signs where bars would be alike. */
export function bars(figure: Figure, width: number, shared: Shared, links: PointLinks): SVGSVGElement {
  const categories = figure.x.categories ?? [];
  const unit = figure.y.unit ?? "";
  const log = figure.y.log === true && shared.y[0] > 0;
  const scale = (from: number, to: number): Scale => (log ? logarithmic(shared.y[0] / 1.5, shared.y[1], from, to) : linear(shared.y[0], shared.y[1], from, to, 6, unit));
  const trial = scale(1, 0);
  const slotFrom = (from: number): number => (width - from - 8) / Math.max(1, categories.length);
  const needed = axisWidth(tickTexts(trial.ticks, unit));
  // Turned texts reach to the left of their bars: the first must not leave the picture.
  const trialSlot = slotFrom(needed);
  const left = Math.min(width * 0.3, Math.max(needed, categoryLayout(categories, trialSlot, width * 0.3 + trialSlot / 2, width).reach - trialSlot / 2));
  const slot = slotFrom(left);
  const layout = categoryLayout(categories, slot, left + slot / 2, width);
  const below = layout.height;
  const height = Math.max(240, Math.min(340, Math.round(width * 0.5))) + below - 40;
  const svg = newSvg(width, height);
  const box: Box = { left, top: 22, right: width - 8, bottom: height - below };
  const y = scale(box.bottom, box.top);
  yAxis(svg, y, box, unit, figure.y.title);
  const base = log ? box.bottom : y.at(Math.max(0, y.domain[0]));
  const inner = slot * 0.82;
  const stacked = figure.kind === "stack";
  const wide = Math.min(46, stacked ? inner : inner / Math.max(1, figure.series.length));
  const sums = categories.map(() => 0);
  figure.series.forEach((series, n) => {
    const style = shared.styles.get(series.label)!;
    const paint = `fill:${css(style.token)}${style.variant > 0 ? ";fill-opacity:0.5" : ""}`;
    series.y.forEach((value, i) => {
      const c = series.x[i]!;
      if (c < 0 || c >= categories.length) return;
      const centre = box.left + (c + 0.5) * slot;
      const x = stacked ? centre - wide / 2 : centre + (n - figure.series.length / 2) * wide;
      if (value === null) {
        // Where nothing was run there is nothing to miss.
        if ((!stacked || n === 0) && (series.point?.[i] ?? -1) >= 0) svg.append(linked(missing(x + wide / 2, box.bottom - 7), figure, series, i, links));
        return;
      }
      const from = stacked ? y.at(sums[c]!) : base;
      const to = y.at(stacked ? sums[c]! + value : value);
      if (stacked) sums[c]! += value;
      const bar = shared.dots ? s("g", { style: paint }, sign(n, x + (wide - 1) / 2, to)) : s("rect", { x: x.toFixed(1), y: Math.min(from, to).toFixed(1), width: Math.max(1, wide - 1).toFixed(1),
        height: Math.max(0.5, Math.abs(from - to) - (stacked ? 0.5 : 0)).toFixed(1), style: paint });
      svg.append(linked(bar, figure, series, i, links));
      const [low, high] = [series.low?.[i], series.high?.[i]];
      if (typeof low === "number" && typeof high === "number") svg.append(whisker(x + (wide - 1) / 2, y.at(low), y.at(high), Math.min(4, wide / 4)));
    });
  });
  categoryAxis(svg, layout, (i) => box.left + (i + 0.5) * slot, slot, box, figure.x.title);
  return svg;
}

function whisker(x: number, low: number, high: number, half: number): SVGElement {
  const d = `M${x},${low}V${high}M${x - half},${low}h${2 * half}M${x - half},${high}h${2 * half}`;
  return s("path", { d, style: `stroke:${css("text")};stroke-opacity:0.75;fill:none`, "pointer-events": "none" });
}
