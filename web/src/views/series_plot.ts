import uPlot from "uplot";
import type { Figure, SeriesMetric } from "../document";
import { colour } from "../base/theme";
import { tickTexts } from "../charts/frame";
import { ticksIn } from "../charts/scale";
import { kFont, textWidth } from "../parts/surface";
import type { Drawn } from "./series_groups";

/** Sums of steps leave zeros that are not quite zero. */
const snapped = (tick: number, ticks: number[]): number => (Math.abs(tick) < 1e-9 * Math.max(...ticks.map(Math.abs)) ? 0 : tick);

/** A dashed line at every limit in the picture, with its name. */
function limitLines(drawn: Drawn): (u: uPlot) => void {
  return (u) => {
    const { ctx, bbox } = u;
    const scale = Math.max(1, devicePixelRatio);
    ctx.save();
    ctx.font = `${11 * scale}px ${kFont}`;
    ctx.textAlign = "right";
    ctx.textBaseline = "bottom";
    ctx.strokeStyle = ctx.fillStyle = colour("bad");
    ctx.lineWidth = scale;
    ctx.setLineDash([6 * scale, 4 * scale]);
    const inside = drawn.limits.filter(({ value }) => value >= u.scales.y!.min! && value <= u.scales.y!.max!).sort((a, b) => b.value - a.value);
    for (const [i, { title, value }] of inside.entries()) {
      const y = u.valToPos(value, "y", true);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      // The highest stands above its line, others below theirs.
      const above = i === 0;
      ctx.textBaseline = above ? "bottom" : "top";
      ctx.fillText(title, bbox.left + bbox.width - 4 * scale, y + (above ? -2 : 2) * scale);
    }
    ctx.restore();
  };
}

/** About so many values at the vertical axis. */
const kTicks = 6;

/** Room above and below, but none below zero for what has no negative values. */
const padded = ([low, high]: [number, number]): [number, number] => {
  const room = (high - low || 1) * 0.06;
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + 2 * room];
};

export interface PlotHooks {
  read: (u: uPlot) => void;
  zoomed: (u: uPlot) => void;
  drawn: () => void;
}

/** uPlot's data: times, then low, high and median of every group, then the single GPUs. */
export const dataOf = (times: number[], drawn: Drawn): uPlot.AlignedData =>
  [times, ...drawn.groups.flatMap((group) => [group.low, group.high, group.median]), ...drawn.singles.map((single) => single.values)];

export function optionsOf(metric: SeriesMetric, drawn: Drawn, width: number, sync: string, hooks: PlotHooks): uPlot.Options {
  const axis = { stroke: colour("muted"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("line"), width: 1 }, font: `11px ${kFont}` };
  const line = (label: string, stroke: string, thick: number): uPlot.Series => ({ label, stroke, width: thick, points: { show: false }, spanGaps: false });
  const series = drawn.groups.flatMap((group) => {
    const paint = colour(group.token);
    return [line(`${group.title}, lowest`, `${paint}60`, 0.75), line(`${group.title}, highest`, `${paint}60`, 0.75), line(`${group.title}, median`, group.token === "idle" ? colour("text") : paint, 2)];
  });
  return {
    width, height: 200, legend: { show: false },
    cursor: { sync: { key: sync, setSeries: false }, focus: { prox: 16 }, points: { size: 6 }, drag: { x: true, y: false } },
    focus: { alpha: drawn.singles.length > 8 ? 0.25 : 1 },
    scales: { x: { time: false }, y: { range: () => padded(drawn.range) } },
    axes: [{ ...axis, size: 32, values: (_, ticks) => tickTexts(ticks.map((tick) => snapped(tick, ticks)), "s") },
      { ...axis, splits: (_, __, low, high) => ticksIn(low, high, kTicks, metric.unit), size: (_, texts) => Math.ceil(Math.max(40, ...(texts ?? []).map((text) => textWidth(text, 11)))) + 20, values: (_, ticks) => tickTexts(ticks.map((tick) => snapped(tick, ticks)), metric.unit) }],
    series: [{}, ...series, ...drawn.singles.map((single) => line(single.title, colour(single.token), drawn.groups.length > 0 ? 1.5 : 1.25))],
    bands: drawn.groups.map((group, i) => ({ series: [3 * i + 2, 3 * i + 1] as [number, number], fill: `${colour(group.token)}38` })),
    hooks: { setCursor: [hooks.read], setSeries: [hooks.read], setScale: [(u, key) => { if (key === "x") hooks.zoomed(u); }], draw: [limitLines(drawn), hooks.drawn] },
    padding: [8, 8, 0, 0],
  };
}

/** The same as a figure, for its SVG. */
export function asFigure(metric: SeriesMetric, drawn: Drawn, times: number[]): Figure {
  const inside = drawn.limits.filter(({ value }) => value >= drawn.range[0] && value <= drawn.range[1]);
  const ends = [times[0]!, times[times.length - 1]!];
  return { id: metric.name, label: "", title: metric.title, caption: "", kind: "line", x: { title: "time", unit: "s" }, y: { title: metric.title, unit: metric.unit },
    series: [...drawn.groups.map((group) => ({ label: group.title, x: times, y: group.median, low: group.low, high: group.high })),
      ...drawn.singles.map((single) => ({ label: single.title, x: times, y: single.values })), ...inside.map(({ title, value }) => ({ label: title, x: ends, y: [value, value] }))] };
}
