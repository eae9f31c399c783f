import uPlot from "uplot";
import type { Figure, Series, SeriesMetric } from "../document";
import { h } from "../base/dom";
import { quantity } from "../base/format";
import { colour, seriesToken, type Token } from "../base/theme";
import { sharedBy } from "../charts/panels";
import { plot } from "../charts/plot";
import { extent } from "../charts/scale";
import { namedOnce, tickTexts } from "../charts/frame";
import { picture } from "../parts/picture";
import { kFont, textWidth } from "../parts/surface";
import type { Cell, TableData } from "../parts/table";

const kBands: [keyof NonNullable<SeriesMetric["distribution"]>, string][] = [
  ["lowest", "lowest"], ["p5", "5th percentile"], ["p50", "median"], ["p95", "95th percentile"], ["highest", "highest"],
];
type Chassis = { row: number[]; lane: number[] };

/** Of few GPUs each has a colour of its own; of many those of one row of the chassis share one: heat follows rows. */
function tokenFor(metric: SeriesMetric, at: number, chassis: Chassis | undefined): Token {
  const gpu = metric.gpus[at]!;
  const row = gpu.slot === undefined ? undefined : chassis?.row[gpu.slot];
  return metric.gpus.length > 8 && row !== undefined ? seriesToken(row) : seriesToken(at);
}

function tableOf(metric: SeriesMetric, times: number[]): TableData {
  const bands = metric.distribution ? kBands : [];
  return {
    columns: [{ title: "time", unit: "s" }, ...metric.gpus.map((gpu) => ({ title: gpu.label, unit: metric.unit })), ...bands.map(([, title]) => ({ title, unit: metric.unit }))],
    rows: times.map((time, i): Cell[] => [time, ...metric.gpus.map((gpu) => gpu.values[i] ?? null), ...bands.map(([name]) => metric.distribution![name][i] ?? null)]),
  };
}

function asFigure(metric: SeriesMetric, times: number[]): Figure {
  const d = metric.distribution;
  const all = d ? [{ label: "median of all GPUs", x: times, y: d.p50, low: d.p5, high: d.p95 }] : [];
  return { id: metric.name, label: "", title: metric.title, caption: "", kind: "line", x: { title: "time", unit: "s" },
    y: { title: metric.title, unit: metric.unit }, series: [...all, ...metric.gpus.map((gpu) => ({ label: gpu.label, x: times, y: gpu.values }))] };
}

function summaryOf(metric: SeriesMetric, times: number[]): string {
  const values = metric.gpus.flatMap((gpu) => gpu.values).filter((value): value is number => value !== null);
  const [low, high] = metric.distribution ? extent([...metric.distribution.lowest, ...metric.distribution.highest]) : extent(values);
  const ends = metric.gpus.slice(0, 8).map((gpu) => `${gpu.label} ends at ${quantity([...gpu.values].reverse().find((value) => value !== null), metric.unit)}`);
  return `From ${quantity(times[0], "s")} to ${quantity(times[times.length - 1], "s")}: between ${quantity(low, metric.unit)} and ${quantity(high, metric.unit)}. ${ends.join(", ")}.`;
}

function options(metric: SeriesMetric, width: number, chassis: Chassis | undefined, sync: string, read: (u: uPlot) => void): uPlot.Options {
  const axis = { stroke: colour("muted"), grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("line"), width: 1 }, font: `11px ${kFont}` };
  const bands = metric.distribution ? kBands.map(([name, title]): uPlot.Series => ({
    label: title, stroke: colour(name === "p50" ? "text" : "idle"), width: name === "p50" ? 2 : 0.75, points: { show: false } })) : [];
  return {
    width, height: 200, legend: { show: false },
    cursor: { sync: { key: sync, setSeries: false }, focus: { prox: 16 }, points: { size: 6 }, drag: { x: true, y: false } },
    focus: { alpha: 0.25 },
    scales: { x: { time: false } },
    axes: [{ ...axis, size: 32, values: (_, ticks) => tickTexts(ticks.map((tick) => snapped(tick, ticks)), "s") },
      { ...axis, size: (_, texts) => Math.ceil(Math.max(40, ...(texts ?? []).map((text) => textWidth(text, 11)))) + 20, values: (_, ticks) => tickTexts(ticks.map((tick) => snapped(tick, ticks)), metric.unit) }],
    series: [{}, ...bands, ...metric.gpus.map((gpu, i): uPlot.Series => ({
      label: gpu.label, stroke: colour(tokenFor(metric, i, chassis)), width: 1.25, points: { show: false }, spanGaps: false }))],
    bands: bands.length > 0 ? [{ series: [5, 1], fill: `${colour("idle")}30` }, { series: [4, 2], fill: `${colour("idle")}50` }] : [],
    hooks: { setCursor: [read], setSeries: [read] },
    padding: [8, 8, 0, 0],
  };
}

/** Sums of steps leave zeros that are not quite zero. */
const snapped = (tick: number, ticks: number[]): number =>
  Math.abs(tick) < 1e-9 * Math.max(...ticks.map(Math.abs)) ? 0 : tick;

/** What the cursor reads, in a line of its own, so that nothing moves. */
function readout(metric: SeriesMetric, times: number[], line: HTMLElement): (u: uPlot) => void {
  return (u) => {
    const at = u.cursor.idx;
    if (at === null || at === undefined) {
      line.textContent = "\u00a0";
      return;
    }
    const bands = metric.distribution ? kBands.length : 0;
    const entries = metric.gpus.map((gpu, i) => ({ label: gpu.label, value: gpu.values[at] ?? null, i })).filter((entry) => entry.value !== null);
    entries.sort((a, b) => b.value! - a.value!);
    const near = u.cursor.top! >= 0 ? entries.map((entry) => ({ entry, far: Math.abs(u.valToPos(entry.value!, "y") - u.cursor.top!) })).sort((a, b) => a.far - b.far)[0] : undefined;
    const parts = [quantity(times[at], "s")];
    if (near && near.far < 24) parts.push(`${near.entry.label} ${quantity(near.entry.value, metric.unit)}`);
    if (bands > 0) parts.push(`all: ${quantity(metric.distribution!.lowest[at], metric.unit)}, median ${quantity(metric.distribution!.p50[at], metric.unit)}, ${quantity(metric.distribution!.highest[at], metric.unit)}`);
    else if (entries.length > 1) parts.push(`highest ${entries[0]!.label} ${quantity(entries[0]!.value, metric.unit)}`, `lowest ${entries[entries.length - 1]!.label} ${quantity(entries[entries.length - 1]!.value, metric.unit)}`);
    line.textContent = parts.join(" · ");
  };
}

function metricPicture(metric: SeriesMetric, times: number[], chassis: Chassis | undefined, sync: string): HTMLElement {
  let made: uPlot | undefined;
  const line = h("p", { class: "readout", "aria-live": "polite" }, "\u00a0");
  return picture({
    title: metric.title, note: namedOnce(metric.unit) ? `In ${metric.unit}.` : undefined, summary: summaryOf(metric, times), table: () => tableOf(metric, times), active: true,
    draw: (host, width) => {
      made?.destroy();
      const place = h("div", { class: "series", tabindex: 0, role: "img", "aria-label": `${metric.title} over time: arrow keys move the cursor` });
      host.replaceChildren(line, place);
      const bands = metric.distribution ? kBands.map(([name]) => metric.distribution![name]) : [];
      const u = new uPlot(options(metric, width, chassis, sync, readout(metric, times, line)), [times, ...bands, ...metric.gpus.map((gpu) => gpu.values)], place);
      made = u;
      place.addEventListener("keydown", (event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
        if (by === undefined) return;
        event.preventDefault();
        const at = Math.min(times.length - 1, Math.max(0, (u.cursor.idx ?? 0) + by));
        // The third argument, which the types leave out, tells the linked pictures.
        (u.setCursor as (place: { left: number; top: number }, fire: boolean, publish: boolean) => void)(
          { left: u.valToPos(times[at]!, "x"), top: u.over.clientHeight / 2 }, true, true);
      });
    },
    svg: (width) => {
      const figure = asFigure(metric, times);
      const shared = sharedBy(figure, [figure]);
      // As on the screen.
      metric.gpus.forEach((gpu, i) => { shared.styles.get(gpu.label)!.token = tokenFor(metric, i, chassis); });
      return plot(figure, width, { ...shared, y: extent(figure.series.flatMap((series) => [...series.y, ...(series.low ?? []), ...(series.high ?? [])])) }, { href: () => undefined, title: () => "" });
    },
  });
}

export function seriesView(series: Series, chassis: Chassis | undefined, group: string): HTMLElement | null {
  const pictures = series.metrics.filter((metric) => metric.gpus.length > 0 || metric.distribution).map((metric) => metricPicture(metric, series.time_s, chassis, group));
  if (series.cluster_power) {
    const metric: SeriesMetric = { name: "cluster_w", title: "Cluster at its plugs", unit: "W", gpus: [{ label: "cluster", values: series.cluster_power.watts }] };
    pictures.push(metricPicture(metric, series.cluster_power.time_s, undefined, `${group}-cluster`));
  }
  if (pictures.length === 0) return null;
  const many = series.metrics.some((metric) => metric.distribution);
  const rows = !many && chassis && new Set(chassis.row).size > 1 && (series.metrics[0]?.gpus.length ?? 0) > 8;
  return h("div", { class: "block" },
    h("p", { class: "note" }, `${series.epoch_ns === undefined ? "" : `Time 0 is ${new Date(series.epoch_ns / 1e6).toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC")}. `}${many ? "Dark line: median of all GPUs; bands: middle 90 % and all; thin colours: chosen GPUs. " : ""}${rows ? "Colours: row in the chassis, blue nearest the inlet. " : ""}Point at a line to read it; drag to zoom, double-click for all.`),
    h("div", { class: "series-grid" }, ...pictures));
}
