import type { Figure } from "../document";
import { s } from "../base/dom";
import { quantity } from "../base/format";
import { colour, inkOn } from "../base/theme";
import { ramp, shareOf, type RampName } from "../base/ramp";
import { fitted, textWidth } from "../parts/surface";
import { categoryAxis, categoryLayout, wrapped } from "./categories";
import { axisWidth, label, namedOnce, newSvg, type Box } from "./frame";
import { linked, missing, type PointLinks } from "./plot";

/** Units that take no prefix: the scale below the cells says them. */
const kOneUnit = / (°C|K|%|MHz)$/;

export const rampFor = (unit: string | undefined): RampName => (unit === "°C" || unit === "C" ? "heat" : "plain");

/** Cells over two lists of categories, each with its value where there is room. */
export function heatmap(figure: Figure, width: number, range: [number, number], links: PointLinks): SVGSVGElement {
  const [columns, rows] = [figure.x.categories ?? [], figure.y.categories ?? []];
  const unit = figure.y.unit ?? "";
  const left = Math.min(width * 0.35, axisWidth(rows));
  const slot = (width - left - 8) / Math.max(1, columns.length);
  const layout = categoryLayout(columns, slot, left + slot / 2, width);
  const below = layout.height;
  const tall = Math.max(18, Math.min(34, 320 / Math.max(1, rows.length)));
  const box: Box = { left, top: 22, right: width - 8, bottom: 22 + tall * rows.length };
  const svg = newSvg(width, box.bottom + below + 34);
  const name = rampFor(unit);
  svg.append(label(figure.y.title, 0, 8, { size: 11 }));
  rows.forEach((text, i) => {
    // In two lines where one is too short and the row is high enough.
    const lines = tall < 26 || textWidth(text, 11) <= left - 8 ? [text] : (wrapped(text, left - 8) ?? [text]);
    const shown = lines.length === 2 ? lines : [text];
    shown.forEach((line, n) => svg.append(label(fitted(line, left - 8, 11), left - 6, box.top + (i + 0.5) * tall + (n - (shown.length - 1) / 2) * 12, { anchor: "end", size: 11 })));
  });
  for (const series of figure.series) {
    series.x.forEach((column, i) => {
      const [row, value] = [series.y[i], series.value?.[i]];
      if (row === null || row === undefined) return;
      if (typeof value !== "number") {
        svg.append(linked(missing(left + (column + 0.5) * slot, box.top + (row + 0.5) * tall), figure, series, i, links));
        return;
      }
      // Nothing at all is not the least of something.
      const paint = value === 0 && range[0] === 0 ? colour("raised") : ramp(name, shareOf(value, range));
      const [x, y] = [left + column * slot, box.top + row * tall];
      const text = namedOnce(unit) ? quantity(value) : quantity(value, unit).replace(kOneUnit, "");
      const cell = s("g", {}, s("rect", { x: x + 0.5, y: y + 0.5, width: slot - 1, height: tall - 1, fill: paint }));
      if (textWidth(text, 11) + 6 < slot) {
        cell.append(s("text", { x: x + slot / 2, y: y + tall / 2, "font-size": 11, "text-anchor": "middle", "dominant-baseline": "central", fill: inkOn(paint) }, text));
      }
      svg.append(linked(cell, figure, series, i, links));
    });
  }
  categoryAxis(svg, layout, (i) => left + (i + 0.5) * slot, slot, box, figure.x.title);
  svg.append(rampLegend(name, range, unit, left, box.bottom + below + 12, Math.min(260, width - left - 8)));
  return svg;
}

/** The colours from low to high with the values at both ends. */
export function rampLegend(name: RampName, [low, high]: [number, number], unit: string, x: number, y: number, width: number): SVGElement {
  const group = s("g", {});
  const [before, after] = [quantity(low, unit), quantity(high, unit)];
  const from = x + textWidth(before, 11) + 8;
  const to = x + width - textWidth(after, 11) - 8;
  const count = 40;
  for (let i = 0; i < count; ++i) {
    group.append(s("rect", { x: from + ((to - from) * i) / count, y, width: (to - from) / count + 0.5, height: 10, fill: ramp(name, i / (count - 1)) }));
  }
  group.append(label(before, x, y + 5, { size: 11 }), label(after, to + 8, y + 5, { size: 11 }));
  return group;
}
