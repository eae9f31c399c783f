import type { Figure, RunDocument, SeriesMetric } from "../document";
import { h } from "../base/dom";
import { quantity } from "../base/format";
import { heatmap } from "../charts/heatmap";
import { sharedBy } from "../charts/panels";
import { plot } from "../charts/plot";
import { legendOf } from "../charts/style";
import { legend } from "../parts/legend";
import { picture } from "../parts/picture";

const kLinks = { href: () => undefined, title: () => "" };

/** Which end of all GPUs matters, beside their middle. */
const kMetrics: { name: string; end: "highest" | "lowest" }[] = [{ name: "gpu_c", end: "highest" }, { name: "power_w", end: "highest" }, { name: "sm_clock_mhz", end: "lowest" }];

/** Of all GPUs at every time: the middle one, and the one at the end that matters. */
function ofAll(metric: SeriesMetric, count: number, end: "highest" | "lowest"): { middle: (number | null)[]; far: (number | null)[] } {
  if (metric.distribution) return { middle: metric.distribution.p50, far: metric.distribution[end] };
  const [middle, far]: [(number | null)[], (number | null)[]] = [[], []];
  for (let i = 0; i < count; ++i) {
    const values = metric.gpus.flatMap((gpu) => gpu.values[i] ?? []).sort((a, b) => a - b);
    middle.push(values[Math.floor((values.length - 1) / 2)] ?? null);
    far.push((end === "highest" ? values[values.length - 1] : values[0]) ?? null);
  }
  return { middle, far };
}

/** The same quantity of both jobs over time, in one picture. */
function overTime(runs: RunDocument[], { name, end }: (typeof kMetrics)[number]): HTMLElement | null {
  const found = runs.map((run) => run.series?.metrics.find((metric) => metric.name === name));
  if (found.some((metric) => !metric)) return null;
  const first = found[0]!;
  const figure: Figure = { id: name, label: "", title: first.title, caption: "", kind: "line", x: { title: "time", unit: "s" }, y: { title: first.title, unit: first.unit },
    series: runs.flatMap((run, i) => {
      const times = run.series!.time_s;
      const { middle, far } = ofAll(found[i]!, times.length, end);
      return [{ label: `${run.name}, ${end}`, x: times, y: far }, { label: `${run.name}, median`, x: times, y: middle }];
    }) };
  const { entries, variants } = legendOf([figure]);
  const told = figure.series.map((one) => { const known = one.y.filter((value): value is number => value !== null); return `${one.label}: ${quantity(Math.min(...known), first.unit)} to ${quantity(Math.max(...known), first.unit)}`; }).join("; ");
  return picture({
    title: first.title, note: variants, summary: `${first.title} over time. ${told}.`, later: true, before: [legend(entries)],
    table: () => ({ columns: [{ title: "series" }, { title: "time", unit: "s" }, { title: first.title, unit: first.unit }], rows: figure.series.flatMap((one) => one.x.map((time, i) => [one.label, time, one.y[i] ?? null])) }),
    draw: (host, width) => host.replaceChildren(plot(figure, width, sharedBy(figure, [figure]), kLinks, false)),
  });
}

/** Mean over nodes of the hottest moment of the GPU at each place. */
function places(run: RunDocument, name: string): Figure | undefined {
  const values = run.ranks?.max_gpu_c;
  if (!run.ranks || !values || !run.chassis) return undefined;
  const { row, lane } = run.chassis;
  const sums = row.map(() => ({ sum: 0, count: 0 }));
  run.ranks.slot.forEach((slot, i) => {
    const place = sums[slot];
    if (place && Number.isFinite(values[i])) { place.sum += values[i]!; ++place.count; }
  });
  const kept = sums.map((place, slot) => ({ ...place, slot })).filter((place) => place.count > 0);
  return { id: "places", label: "", title: name, caption: "", kind: "heat-map", panel: name, x: { title: "lane", categories: [...new Set(lane)].sort((a, b) => a - b).map(String) },
    y: { title: "row from the inlet", unit: "°C", categories: [...new Set(row)].sort((a, b) => a - b).map(String) },
    series: [{ label: "hottest", x: kept.map((place) => lane[place.slot]!), y: kept.map((place) => row[place.slot]!), value: kept.map((place) => place.sum / place.count) }] };
}

/** Temperature, power and clocks of both jobs in the same pictures, and their nodes beside each other on one scale. */
export function heatView(runs: RunDocument[]): HTMLElement | null {
  const pictures = kMetrics.flatMap((metric) => overTime(runs, metric) ?? []);
  const nodes = runs.flatMap((run) => places(run, run.name) ?? []);
  const chassis = nodes.length < 2 ? [] : nodes.map((figure) => picture({
    title: `A node of ${figure.title}`, note: "Hottest moment of the GPU at each place, mean over nodes; one scale for all jobs.", later: true,
    summary: figure.series[0]!.x.map((lane, i) => `row ${figure.series[0]!.y[i]}, lane ${lane}: ${quantity(figure.series[0]!.value![i], "°C")}`).join(", "),
    table: { columns: [{ title: "row", unit: "" }, { title: "lane", unit: "" }, { title: "hottest", unit: "°C" }], rows: figure.series[0]!.x.map((lane, i) => [figure.series[0]!.y[i] ?? null, lane, figure.series[0]!.value![i] ?? null]) },
    draw: (host, width) => host.replaceChildren(heatmap(figure, width, sharedBy(figure, nodes).y, kLinks)),
  }));
  if (pictures.length === 0 && chassis.length === 0) return null;
  return h("div", {}, h("div", { class: "beside" }, ...pictures), h("div", { class: "beside" }, ...chassis));
}
