import uPlot from "uplot";
import type { RunDocument, SeriesMetric } from "../document";
import { h } from "../base/dom";
import { quantity } from "../base/format";
import { sharedBy } from "../charts/panels";
import { plot } from "../charts/plot";
import { extent } from "../charts/scale";
import { namedOnce } from "../charts/frame";
import { legend } from "../parts/legend";
import type { Moment } from "../parts/moment";
import { picture, redraw } from "../parts/picture";
import type { Cell, TableData } from "../parts/table";
import { drawnOf, limitsOf, type Drawn } from "./series_groups";
import { asFigure, dataOf, optionsOf } from "./series_plot";

const kBands: [keyof NonNullable<SeriesMetric["distribution"]>, string][] = [
  ["lowest", "lowest"], ["p5", "5th percentile"], ["p50", "median"], ["p95", "95th percentile"], ["highest", "highest"],
];

function tableOf(metric: SeriesMetric, times: number[]): TableData {
  const bands = metric.distribution ? kBands : [];
  return {
    columns: [{ title: "time", unit: "s" }, ...metric.gpus.map((gpu) => ({ title: gpu.label, unit: metric.unit })), ...bands.map(([, title]) => ({ title, unit: metric.unit }))],
    rows: times.map((time, i): Cell[] => [time, ...metric.gpus.map((gpu) => gpu.values[i] ?? null), ...bands.map(([name]) => metric.distribution![name][i] ?? null)]),
  };
}

function summaryOf(metric: SeriesMetric, times: number[], drawn: Drawn): string {
  const values = metric.gpus.flatMap((gpu) => gpu.values).filter((value): value is number => value !== null);
  const [low, high] = metric.distribution ? extent([...metric.distribution.lowest, ...metric.distribution.highest]) : extent(values);
  const ends = drawn.singles.slice(0, 8).map((gpu) => `${gpu.title} ends at ${quantity([...gpu.values].reverse().find((value) => value !== null), metric.unit)}`);
  const limits = drawn.limits.length > 0 ? ` Limits: ${drawn.limits.map((limit) => limit.title).join(", ")}.` : "";
  return `From ${quantity(times[0], "s")} to ${quantity(times[times.length - 1], "s")}: between ${quantity(low, metric.unit)} and ${quantity(high, metric.unit)}. ${ends.join(", ")}.${limits}`;
}

/** What a moment reads: the GPU under the pointer, if any, rows or extremes, the GPUs that are told of. */
function readWords(metric: SeriesMetric, drawn: Drawn, times: number[], at: number, u: uPlot, pointed: boolean): string {
  const entries = metric.gpus.map((gpu) => ({ label: gpu.label, value: gpu.values[at] ?? null })).filter((entry): entry is { label: string; value: number } => entry.value !== null);
  entries.sort((a, b) => b.value - a.value);
  const parts = [quantity(times[at], "s")];
  const near = pointed ? drawn.singles.flatMap((single) => (single.values[at] === null ? [] : [{ single, far: Math.abs(u.valToPos(single.values[at]!, "y") - u.cursor.top!) }])).sort((a, b) => a.far - b.far)[0] : undefined;
  if (near && near.far < 24) parts.push(`${near.single.title} ${quantity(near.single.values[at], metric.unit)}`);
  for (const group of drawn.groups.filter((one) => one.token !== "idle")) parts.push(`${group.title} ${quantity(group.median[at], metric.unit)}`);
  const d = metric.distribution;
  if (d) parts.push(`all: ${quantity(d.lowest[at], metric.unit)}, median ${quantity(d.p50[at], metric.unit)}, ${quantity(d.highest[at], metric.unit)}`);
  else if (entries.length > 1) parts.push(`highest ${entries[0]!.label} ${quantity(entries[0]!.value, metric.unit)}`, `lowest ${entries[entries.length - 1]!.label} ${quantity(entries[entries.length - 1]!.value, metric.unit)}`);
  else if (entries.length === 1 && !(near && near.far < 24)) parts.push(`${entries[0]!.label} ${quantity(entries[0]!.value, metric.unit)}`);
  return parts.join(" · ");
}

/** Index of the last time that is not behind a moment. */
export function indexAt(times: number[], time: number): number {
  let [low, high] = [0, times.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle]! <= time + 1e-9) low = middle;
    else high = middle - 1;
  }
  return low;
}

interface Shown {
  run: RunDocument;
  moment: Moment;
  /** Every GPU has a line. */
  every: boolean;
  again: (() => void)[];
}

/** One metric: drawn anew when its width, colours or what is shown change; the moment is a line over it. */
class MetricPlot {
  private drawn: Drawn;
  private u: uPlot | undefined;
  private host: HTMLElement | undefined;
  private readonly line = h("p", { class: "readout", "aria-live": "off" }, "\u00a0");
  private readonly cursor = h("div", { class: "moment", hidden: true });

  constructor(private readonly metric: SeriesMetric, private readonly times: number[], private readonly shown: Shown, private readonly sync: string) {
    this.drawn = drawnOf(metric, shown.run, shown.every);
    shown.again.push(() => {
      this.drawn = drawnOf(metric, shown.run, shown.every);
      if (this.host) redraw(this.host);
    });
    shown.moment.onChange(() => this.place());
    shown.moment.onRestore(() => this.restore());
  }

  picture(): HTMLElement {
    const { metric, times } = this;
    const window_s = this.shown.run.series!.limits?.power_window_s;
    const averaged = metric.name === "power_w" && window_s !== undefined ? `Each value is the mean over ${quantity(window_s, "s")}, as the GPU's sensor reads.` : "";
    const far = limitsOf(metric, this.shown.run.series!.limits ?? {}).filter(({ value }) => value > this.drawn.range[1]).map(({ title }) => title);
    return picture({
      title: metric.title, note: [namedOnce(metric.unit) ? `In ${metric.unit}.` : "", averaged, far.length > 0 ? `Above the picture: ${far.join(", ")}.` : ""].filter(Boolean).join(" ") || undefined,
      summary: summaryOf(metric, times, this.drawn), table: () => tableOf(metric, times), active: true,
      draw: (host, width) => this.draw(host, width), svg: (width) => this.svg(width),
    });
  }

  private draw(host: HTMLElement, width: number): void {
    const { metric, times, drawn } = this;
    this.u?.destroy();
    this.host = host;
    const place = h("div", { class: "series", tabindex: 0, role: "img", "aria-label": `${metric.title} over time: arrow keys move the cursor` });
    const keys = [...drawn.groups, ...drawn.singles];
    host.replaceChildren(...(keys.length > 1 && keys.length <= 8 ? [legend(keys)] : []), this.line, place);
    const u = new uPlot(optionsOf(metric, drawn, width, this.sync, { read: () => this.read(), zoomed: (plot) => this.zoomed(plot), drawn: () => this.place() }), dataOf(times, drawn), place);
    this.u = u;
    u.over.append(this.cursor);
    this.listen(place, u);
    this.restore();
  }

  private listen(place: HTMLElement, u: uPlot): void {
    let down = 0;
    u.over.addEventListener("pointerdown", (event) => { down = event.clientX; });
    u.over.addEventListener("pointerup", (event) => {
      if (Math.abs(event.clientX - down) < 4) this.shown.moment.set(u.posToVal(event.clientX - u.over.getBoundingClientRect().left, "x"));
    });
    place.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      const from = u.cursor.idx ?? (this.shown.moment.now === undefined ? 0 : indexAt(this.times, this.shown.moment.now));
      const at = Math.min(this.times.length - 1, Math.max(0, from + by));
      // The third argument, which the types leave out, tells the linked pictures.
      (u.setCursor as (place: { left: number; top: number }, fire: boolean, publish: boolean) => void)(
        { left: u.valToPos(this.times[at]!, "x"), top: u.over.clientHeight / 2 }, true, true);
      this.shown.moment.set(this.times[at]!);
    });
  }

  /** The pointer's values while it is over a picture, else those of the moment. */
  private read(): void {
    const { u } = this;
    if (!u) return;
    const { now } = this.shown.moment;
    const pointed = u.cursor.idx !== null && u.cursor.idx !== undefined;
    const at = pointed ? u.cursor.idx! : now === undefined ? undefined : indexAt(this.times, now);
    this.line.textContent = at === undefined ? "\u00a0" : readWords(this.metric, this.drawn, this.times, at, u, pointed && u.cursor.top! >= 0);
  }
  private place(): void {
    const { u } = this;
    if (!u) return;
    const { now } = this.shown.moment;
    const x = now === undefined ? -1 : u.valToPos(now, "x");
    this.cursor.hidden = x < 0 || x > u.over.clientWidth;
    this.cursor.style.transform = `translateX(${x.toFixed(1)}px)`;
    this.read();
  }

  private zoomed(u: uPlot): void {
    if (u !== this.u) return;
    const { min, max } = u.scales.x!;
    const [first, last] = [this.times[0]!, this.times[this.times.length - 1]!];
    const whole = min! <= first + 1e-9 && max! >= last - 1e-9;
    const kept = this.shown.moment.stretch("pfrom", "pto", last);
    if (whole ? kept === undefined : kept && Math.abs(kept.from - min!) + Math.abs(kept.to - max!) < 1e-6) return;
    this.shown.moment.keepStretch("pfrom", "pto", whole ? undefined : { from: min!, to: max! });
  }
  private restore(): void {
    const [first, last] = [this.times[0]!, this.times[this.times.length - 1]!];
    const seen = this.shown.moment.stretch("pfrom", "pto", last);
    this.u?.setScale("x", seen ? { min: Math.max(first, seen.from), max: seen.to } : { min: first, max: last });
  }

  private svg(width: number): SVGSVGElement {
    const figure = asFigure(this.metric, this.drawn, this.times);
    const shared = sharedBy(figure, [figure]);
    // As on the screen.
    for (const { title, token } of [...this.drawn.groups, ...this.drawn.singles]) shared.styles.get(title)!.token = token;
    for (const { title } of this.drawn.limits) if (shared.styles.has(title)) shared.styles.get(title)!.token = "bad";
    return plot(figure, width, { ...shared, y: this.drawn.range }, { href: () => undefined, title: () => "" });
  }
}

/** Power, temperatures and clocks over time. */
export function seriesView(run: RunDocument, moment: Moment): HTMLElement | null {
  const { series, chassis, name } = run;
  if (!series) return null;
  const shown: Shown = { run, moment, every: false, again: [] };
  const metrics = series.metrics.filter((metric) => metric.gpus.length > 0 || metric.distribution);
  const pictures = metrics.map((metric) => new MetricPlot(metric, series.time_s, shown, `series-${name}`).picture());
  if (series.cluster_power) {
    const metric: SeriesMetric = { name: "cluster_w", title: "Cluster at its plugs", unit: "W", gpus: [{ label: "cluster", values: series.cluster_power.watts }] };
    pictures.push(new MetricPlot(metric, series.cluster_power.time_s, shown, `series-${name}`).picture());
  }
  if (pictures.length === 0) return null;
  const many = metrics.some((metric) => metric.distribution);
  const grouped = metrics.some((metric) => metric.gpus.length > 8);
  const rows = grouped && chassis && new Set(chassis.row).size > 1;
  const toggle: HTMLButtonElement = h("button", { type: "button", class: "quiet", "aria-pressed": "false", click: () => {
    shown.every = !shown.every;
    toggle.setAttribute("aria-pressed", String(shown.every));
    for (const again of shown.again) again();
  } }, many ? "Every GPU that is here" : "Every GPU");
  const zero = series.epoch_ns === undefined ? "" : `Time 0 is ${new Date(series.epoch_ns / 1e6).toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC")}. `;
  const bands = grouped ? `${many ? "Grey: all GPUs and their median. Rows: median GPUs of the stages. " : ""}Bands: lowest to highest${rows ? " of a row in the chassis, row 0 nearest the inlet" : ""}; thick: median; thin: single GPUs. ` : "";
  return h("div", { class: "block" },
    h("div", { class: "picture-head" }, h("p", { class: "note" }, `${zero}${bands}Point at a line to read it; a click sets the moment that all pictures show; drag to zoom, double-click for all.`),
      h("div", { class: "tools" }, ...(grouped ? [toggle] : []))),
    h("div", { class: "series-grid" }, ...pictures));
}
