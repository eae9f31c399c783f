import type { Figure, FigureSeries } from "../document";
import { s } from "../base/dom";
import { quantity } from "../base/format";
import { css } from "../base/theme";
import { tipOn } from "../parts/tip";
import { axisWidth, newSvg, tickTexts, xAxis, yAxis, type Box } from "./frame";
import { linear, logarithmic, type Scale } from "./scale";
import type { Shared } from "./panels";
import type { SeriesStyle } from "./style";

/** Where values of a figure lead and what they are called. */
export interface PointLinks {
  href: (point: number) => string | undefined;
  title: (point: number) => string;
}

/** Lines of more values have no sign at each. */
const kMostSigns = 60;
const kDashes = ["", "6 3", "2 3", "8 3 2 3"];

/** A small sign, another for each series: a picture must not rest on colour alone. */
export function sign(index: number, x: number, y: number, size = 4): SVGElement {
  const at = (...points: [number, number][]): string => points.map(([dx, dy]) => `${(x + dx * size).toFixed(1)},${(y + dy * size).toFixed(1)}`).join(" ");
  switch (index % 4) {
    case 0: return s("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: size });
    case 1: return s("polygon", { points: at([-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]) });
    case 2: return s("polygon", { points: at([0, -1.25], [1.15, 0.85], [-1.15, 0.85]) });
    default: return s("polygon", { points: at([0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]) });
  }
}

/** Lines or points over numbers, with their 90 % intervals; `signs`: at the values of lines. */
export function plot(figure: Figure, width: number, shared: Shared, links: PointLinks, signs = true): SVGSVGElement {
  const height = Math.max(240, Math.min(360, Math.round(width * 0.6)));
  const svg = newSvg(width, height);
  const unit = figure.y.unit ?? "";
  const make = (log: boolean | undefined, range: [number, number], from: number, to: number, count: number, own: number[], axis_unit: string): Scale =>
    log && range[0] > 0 ? logarithmic(range[0], range[1], from, to, own) : linear(range[0], range[1], from, to, count, axis_unit);
  const flat = make(figure.y.log, shared.y, height - 44, 22, 6, [], unit);
  const box: Box = { left: axisWidth(tickTexts(flat.ticks, unit)), top: 22, right: width - 12, bottom: height - 44 };
  const x = make(figure.x.log, shared.x, box.left + 8, box.right - 8, Math.max(3, Math.round(width / 90)), shared.marks, figure.x.unit ?? "");
  yAxis(svg, flat, box, unit, figure.y.title);
  xAxis(svg, x, box, figure.x.unit ?? "", figure.x.title);
  for (const series of figure.series) svg.append(drawSeries(figure, series, shared.styles.get(series.label)!, x.at, flat.at, links, signs));
  return svg;
}

function drawSeries(figure: Figure, series: FigureSeries, style: SeriesStyle, atX: (v: number) => number, atY: (v: number) => number, links: PointLinks, signs: boolean): SVGElement {
  const paint = css(style.token);
  const group = s("g", { style: `fill:${paint};stroke:${paint}` });
  if (figure.kind === "line") {
    const places = series.y.map((value, i) => (value === null ? null : `${atX(series.x[i]!).toFixed(1)},${atY(value).toFixed(1)}`));
    const band = series.low && series.high ? bandPath(series, atX, atY) : "";
    if (band !== "") group.append(s("path", { d: band, "fill-opacity": 0.14, stroke: "none" }));
    const d = places.map((place, i) => (place === null ? "" : `${i > 0 && places[i - 1] !== null ? "L" : "M"}${place}`)).join("");
    group.append(s("path", { d, fill: "none", "stroke-width": 2, "stroke-dasharray": kDashes[style.variant > 0 ? 1 : Math.floor(style.shape / 8) % 4] || undefined }));
  }
  // A line of many values is a curve: signs and links would hide it.
  if (figure.kind === "line" && (!signs || series.x.length > kMostSigns)) return group;
  series.y.forEach((value, i) => {
    if (value === null) return;
    const mark = sign(style.shape, atX(series.x[i]!), atY(value), series.x.length > 400 ? 2.5 : 4);
    if (figure.kind === "scatter") mark.setAttribute("fill-opacity", style.variant > 0 ? "0.35" : "0.8");
    group.append(linked(mark, figure, series, i, links));
  });
  return group;
}

/** Of values without an interval the band is cut. */
function bandPath(series: FigureSeries, atX: (v: number) => number, atY: (v: number) => number): string {
  let d = "";
  let run: number[] = [];
  const close = (): void => {
    const place = (values: (number | null)[], i: number): string => `${atX(series.x[i]!).toFixed(1)},${atY(values[i]!).toFixed(1)}`;
    if (run.length > 1) d += `M${run.map((i) => place(series.high!, i)).join("L")}L${[...run].reverse().map((i) => place(series.low!, i)).join("L")}Z`;
    run = [];
  };
  series.x.forEach((_, i) => {
    const known = typeof series.low![i] === "number" && typeof series.high![i] === "number";
    if (known) run.push(i);
    else close();
  });
  close();
  return d;
}

/** Where a point gave no value, because it does not fit or cannot run. */
export const missing = (x: number, y: number): SVGElement =>
  s("g", {}, s("rect", { x: x - 6, y: y - 6, width: 12, height: 12, fill: "transparent" }),
    s("path", { d: `M${x - 3},${y - 3}l6,6m0,-6l-6,6`, style: `stroke:${css("muted")};stroke-width:1.5;fill:none` }));

/** A mark with its tip, leading to the point behind it. */
export function linked(mark: SVGElement, figure: Figure, series: FigureSeries, i: number, links: PointLinks): SVGElement {
  const value = figure.kind === "heat-map" ? series.value?.[i] : series.y[i];
  const place = figure.x.categories?.[series.x[i]!] ?? quantity(series.x[i], figure.x.unit ?? "");
  const unit = figure.y.unit ?? "";
  const lines: [string, string][] = [[figure.x.title, place], [figure.kind === "heat-map" ? "value" : figure.y.title, quantity(value, unit)]];
  if (figure.kind === "heat-map") lines.splice(1, 0, [figure.y.title, figure.y.categories?.[series.y[i] ?? -1] ?? ""]);
  const [low, high] = [series.low?.[i], series.high?.[i]];
  if (typeof low === "number" && typeof high === "number") lines.push(["90 % interval", `${quantity(low, unit)} to ${quantity(high, unit)}`]);
  const point = series.point?.[i] ?? -1;
  const href = point >= 0 ? links.href(point) : undefined;
  const link = href ? s("a", { href, "aria-label": `${links.title(point)}: ${lines.map((line) => line.join(" ")).join(", ")}` }, mark) : undefined;
  tipOn(mark, point >= 0 ? links.title(point) : series.label, point >= 0 ? [["series", series.label], ...lines] : lines, link);
  return link ?? mark;
}
