import type { Fit, Summary } from "../document";
import { h } from "../base/dom";
import { plural, quantity, range, words } from "../base/format";
import { intervalOf, metricOf, numberIn, valueOf } from "./metrics";

const kElse = ["cluster_mean_w", "cluster_peak_w", "cluster_energy_j", "gpu_energy_j", "mean_clock_mhz", "spread_c"];
/** What everybody asks for first. */
export const kHeadline = ["step_time_s", "tokens_per_s", "mfu", "peak_bytes", "mean_w_per_gpu", "energy_j_per_step", "max_gpu_c", "throttled_time_fraction"];

/** What stands small below a number where it has no interval. */
function beside(summary: Summary, name: string): string | undefined {
  const gpus = numberIn(summary, "performance", "tokens_per_s_per_gpu");
  const capacity = numberIn(summary, "memory", "capacity_bytes");
  const peak = numberIn(summary, "memory", "peak_bytes");
  const step = numberIn(summary, "performance", "step_time_s");
  const tokens = numberIn(summary, "performance", "tokens_per_s");
  const energy = numberIn(summary, "power", "energy_j_per_step");
  const clock = numberIn(summary, "thermal", "mean_clock_mhz");
  const watts = numberIn(summary, "power", "peak_w_per_gpu");
  const mean = numberIn(summary, "thermal", "mean_gpu_c");
  switch (name) {
    case "tokens_per_s": return gpus === undefined ? undefined : `${quantity(gpus)} per GPU`;
    case "mfu": return numberIn(summary, "performance", "hfu") === undefined ? undefined : `HFU ${quantity(numberIn(summary, "performance", "hfu"), "1")}`;
    case "peak_bytes": return capacity === undefined || peak === undefined ? undefined : `of ${quantity(capacity, "bytes")}, ${quantity(peak / capacity, "1")}`;
    case "mean_w_per_gpu": return watts === undefined ? undefined : `peak ${quantity(watts, "W")}`;
    case "energy_j_per_step": return energy === undefined || !step || !tokens ? undefined : `${quantity(energy / (tokens * step), "J")} per token`;
    case "max_gpu_c": return mean === undefined ? undefined : `mean ${quantity(mean, "°C")}`;
    case "throttled_time_fraction": return clock === undefined ? undefined : `mean clock ${quantity(clock, "MHz")}`;
    default: return undefined;
  }
}

export const kHeadlineTitles: Record<string, string> = { peak_bytes: "memory, fullest GPU", mean_w_per_gpu: "power per GPU", throttled_time_fraction: "throttled" };

/** "22,123 tokens/s" as the value of a tile, the unit small. */
export function tileValue(value: number, unit: string): HTMLElement {
  const shown = quantity(value, unit);
  const [, number, own] = /^(\S+)\s?(.*)$/.exec(shown) ?? [];
  return h("dd", { class: "value" }, number ?? shown, own ? h("small", {}, ` ${own}`) : null);
}

function tile(summary: Summary, name: string): HTMLElement | null {
  const metric = metricOf(name);
  const value = metric && valueOf(summary, metric);
  if (!metric || value === undefined) return null;
  const interval = intervalOf(summary, metric);
  const second = beside(summary, name);
  return h("div", { class: "tile", "data-metric": name, "data-value": value },
    h("dt", {}, kHeadlineTitles[name] ?? metric.title),
    tileValue(value, metric.unit),
    second ? h("dd", { class: "aside" }, second) : null,
    interval ? h("dd", { class: "aside", title: "90 % interval" }, `90 %: ${range(interval, metric.unit)}`) : null);
}

/** The numbers that everybody asks for first, and what holds the job back. */
export function headline(summary: Summary, fit: Fit = summary.memory?.fits === false ? "does not fit" : "fits"): HTMLElement {
  const first = kHeadline.map((name) => tile(summary, name)).filter(Boolean);
  // Of telemetry alone little of the above is known: then what else it tells.
  const tiles = first.length >= 4 ? first : [...first, ...kElse.map((name) => tile(summary, name)).filter(Boolean)];
  const notes = Array.isArray(summary.notes) ? (summary.notes as string[]) : [];
  const reasons = (summary.performance?.interval_reasons as string[] | undefined) ?? [];
  const limit = (summary.thermal as Record<string, unknown> | undefined)?.limit;
  return h("div", { class: "headline" },
    fit === "does not fit" ? h("p", { class: "verdict bad" }, h("b", {}, "Does not fit: "), "the fullest GPU needs more memory than it has.") : null,
    fit === "at risk" ? h("p", { class: "verdict fair" }, h("b", {}, "Memory at risk: "), `the fullest GPU's memory is enough with ${quantity(numberIn(summary, "memory", "fit_probability"), "1")} probability.`) : null,
    summary.limiter ? h("p", { class: "verdict" }, h("b", {}, "Limited by "), summary.limiter) : null,
    typeof limit === "string" ? h("p", { class: "verdict" }, h("b", {}, "Clocks: "), limit) : null,
    tiles.length > 0 ? h("dl", { class: tiles.length < 4 ? "tiles few" : "tiles" }, ...tiles) : null,
    reasons.length > 0 ? h("p", { class: "note" }, `Why the interval is as wide as it is: ${reasons.join("; ")}.`) : null,
    notes.length > 0 ? h("details", {}, h("summary", {}, plural(notes.length, "note")), h("ul", { class: "notes" }, ...notes.map((note) => h("li", {}, note)))) : null);
}

/** Parts of a record in words: "compute 6.26 s (75.1 %), ...". */
export function inWords(parts: [string, number][], unit: string): string {
  const sum = parts.reduce((total, [, value]) => total + value, 0);
  return parts.map(([name, value]) => `${words(name)} ${quantity(value, unit)} (${quantity(value / sum, "1")})`).join(", ");
}
