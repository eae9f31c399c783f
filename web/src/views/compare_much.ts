import type { ReportDocument, RunDocument } from "../document";
import { h } from "../base/dom";
import { change, quantity, range, signed } from "../base/format";
import { intervalOf, kMetrics, valueOf, type Metric } from "./metrics";

/** Which way a change is: better, worse, or too small to say. */
export function direction(better: Metric["better"], from: number, to: number): "good" | "bad" | undefined {
  if (better === "neither" || Math.abs(to - from) <= 0.005 * Math.abs(from)) return undefined;
  return (to < from) === (better === "lower") ? "good" : "bad";
}

/** "+9.5 %"; of temperatures "+1.2 K": a share of them says nothing. */
export function changeOf(metric: Metric, a: number, b: number): string {
  if (metric.unit !== "°C") return change(a, b);
  const shown = signed(b - a, "K");
  return shown.startsWith("0.0 ") ? "same" : shown;
}

const kFirst = ["step_time_s", "tokens_per_s", "mfu", "energy_j_per_step", "tokens_per_j", "mean_w_per_gpu", "max_gpu_c", "peak_bytes"];

/** Where both have one: the intervals, and whether they overlap, so that the difference may be none. */
function intervals(metric: Metric, [a, b]: [RunDocument, RunDocument]): HTMLElement[] {
  const [left, right] = [intervalOf(a.summary, metric), intervalOf(b.summary, metric)];
  if (!left || !right) return [];
  const overlap = left[0] <= right[1] && right[0] <= left[1];
  return [h("dd", { class: "aside", title: "90 % intervals" }, `90 %: A ${range(left, metric.unit)}, B ${range(right, metric.unit)}`),
    h("dd", { class: "aside" }, overlap ? "the intervals overlap" : "the intervals are apart")];
}

function tile(metric: Metric, runs: [RunDocument, RunDocument]): HTMLElement | null {
  const [a, b] = [valueOf(runs[0].summary, metric), valueOf(runs[1].summary, metric)];
  if (a === undefined || b === undefined) return null;
  return h("div", { class: "tile", "data-metric": metric.name, "data-a": a, "data-b": b }, h("dt", {}, metric.title),
    h("dd", { class: `value ${direction(metric.better, a, b) ?? ""}` }, changeOf(metric, a, b)),
    h("dd", {}, `${quantity(a, metric.unit)} → ${quantity(b, metric.unit)}`), ...intervals(metric, runs));
}

/** How much B differs from A in what everybody asks for first. */
export function howMuch({ runs, comparison }: ReportDocument): HTMLElement | null {
  if (runs.length !== 2) return null;
  const pair: [RunDocument, RunDocument] = [runs[0]!, runs[1]!];
  const tiles = kFirst.flatMap((name) => tile(kMetrics.find((metric) => metric.name === name)!, pair) ?? []);
  if (!comparison?.verdict && tiles.length === 0) return null;
  return h("div", {}, comparison?.verdict ? h("p", { class: "verdict" }, comparison.verdict) : null, tiles.length > 0 ? h("dl", { class: "tiles" }, ...tiles) : null);
}
