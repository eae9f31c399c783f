import type { Figure } from "../document";
import { s } from "../base/dom";
import { css } from "../base/theme";
import { categoryAxis, categoryLayout } from "./categories";
import { axisWidth, newSvg, tickTexts, yAxis, type Box } from "./frame";
import { linked, missing, type PointLinks } from "./plot";
import { linear, logarithmic } from "./scale";
import { stylesOf } from "./style";

/** Highest sum of a stack, over all panels. */
export function stackHeight(figures: Figure[]): [number, number] {
  let most = 0;
  for (const figure of figures) {
    for (let c = 0; c < (figure.x.categories?.length ?? 0); ++c) {
      let sum = 0;
      for (const series of figure.series) series.x.forEach((x, i) => { if (x === c) sum += Math.max(0, series.y[i] ?? 0); });
      most = Math.max(most, sum);
    }
  }
  return [0, most || 1];
}

/** Upright bars over categories, side by side ("bar") or on top of each other ("stack"). */
export function bars(figure: Figure, width: number, y_range: [number, number], links: PointLinks): SVGSVGElement {
  const categories = figure.x.categories ?? [];
  const unit = figure.y.unit ?? "";
  const trial = linear(y_range[0], y_range[1], 1, 0, 6, unit);
  const slotFrom = (from: number): number => (width - from - 8) / Math.max(1, categories.length);
  const needed = axisWidth(tickTexts(trial.ticks, unit));
  // Turned texts reach to the left of their bars: the first must not leave the picture.
  const left = Math.min(width * 0.3, Math.max(needed, categoryLayout(categories, slotFrom(needed)).reach - slotFrom(needed) / 2));
  const slot = slotFrom(left);
  const layout = categoryLayout(categories, slot);
  const below = layout.height;
  const height = Math.max(240, Math.min(340, Math.round(width * 0.5))) + below - 40;
  const svg = newSvg(width, height);
  const box: Box = { left, top: 22, right: width - 8, bottom: height - below };
  const log = figure.y.log === true && y_range[0] > 0;
  const y = log ? logarithmic(y_range[0] / 1.5, y_range[1], box.bottom, box.top) : linear(y_range[0], y_range[1], box.bottom, box.top, 6, unit);
  yAxis(svg, y, box, unit, figure.y.title);
  const base = log ? box.bottom : y.at(Math.max(0, y.domain[0]));
  const inner = slot * 0.82;
  const stacked = figure.kind === "stack";
  const wide = Math.min(46, stacked ? inner : inner / Math.max(1, figure.series.length));
  const sums = categories.map(() => 0);
  const styles = stylesOf(figure.series);
  figure.series.forEach((series, n) => {
    const style = styles[n]!;
    const paint = `fill:${css(style.token)}${style.variant > 0 ? ";fill-opacity:0.5" : ""}`;
    series.y.forEach((value, i) => {
      const c = series.x[i]!;
      if (c < 0 || c >= categories.length) return;
      const centre = box.left + (c + 0.5) * slot;
      const x = stacked ? centre - wide / 2 : centre + (n - figure.series.length / 2) * wide;
      if (value === null) {
        if (!stacked || n === 0) svg.append(linked(missing(x + wide / 2, box.bottom - 7), figure, series, i, links));
        return;
      }
      const from = stacked ? y.at(sums[c]!) : base;
      const to = y.at(stacked ? sums[c]! + value : value);
      if (stacked) sums[c]! += value;
      const bar = s("rect", { x: x.toFixed(1), y: Math.min(from, to).toFixed(1), width: Math.max(1, wide - 1).toFixed(1),
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
