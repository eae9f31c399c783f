import type { Summary } from "../document";
import { gpusOf, modelName } from "./job_words";

/** A number of the summary that is shown, compared and put on axes. */
export interface Metric {
  group: "performance" | "memory" | "power" | "thermal";
  name: string;
  title: string;
  unit: string;
  better: "lower" | "higher" | "neither";
}

const m = (group: Metric["group"], name: string, title: string, unit: string, better: Metric["better"]): Metric => ({ group, name, title, unit, better });

export const kMetrics: Metric[] = [
  m("performance", "step_time_s", "step time", "s", "lower"),
  m("performance", "tokens_per_s", "throughput", "tokens/s", "higher"),
  m("performance", "tokens_per_s_per_gpu", "throughput per GPU", "tokens/s", "higher"),
  m("performance", "mfu", "MFU", "1", "higher"),
  m("performance", "hfu", "HFU", "1", "neither"),
  m("performance", "model_tflops_per_gpu", "model TFLOP/s per GPU", "TFLOP/s", "higher"),
  m("performance", "pipeline_bubble_fraction", "pipeline bubble", "1", "lower"),
  m("memory", "peak_bytes", "peak memory", "bytes", "lower"),
  m("memory", "capacity_bytes", "memory capacity", "bytes", "neither"),
  m("power", "mean_w_per_gpu", "power per GPU", "W", "neither"),
  m("power", "peak_w_per_gpu", "peak power per GPU", "W", "lower"),
  m("power", "cluster_mean_w", "cluster power", "W", "lower"),
  m("power", "cluster_peak_w", "cluster peak power", "W", "lower"),
  m("power", "cluster_energy_j", "cluster energy", "J", "neither"),
  m("power", "gpu_energy_j", "energy of GPUs", "J", "neither"),
  m("power", "energy_j_per_step", "energy per step", "J", "lower"),
  m("power", "tokens_per_j", "tokens per joule", "tokens/J", "higher"),
  m("thermal", "mean_gpu_c", "mean GPU temperature", "°C", "lower"),
  m("thermal", "max_gpu_c", "hottest GPU", "°C", "lower"),
  m("thermal", "spread_c", "temperature spread", "K", "lower"),
  m("thermal", "mean_clock_mhz", "mean clock", "MHz", "higher"),
  m("thermal", "throttled_time_fraction", "throttled time", "1", "lower"),
];

export const metricOf = (name: string): Metric | undefined => kMetrics.find((metric) => metric.name === name);

/** A number of the summary; undefined where nothing is known of it. */
export function numberIn(summary: Summary | undefined, group: string, name: string): number | undefined {
  const value = (summary?.[group] as Record<string, unknown> | undefined)?.[name];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
export const valueOf = (summary: Summary | undefined, metric: Metric): number | undefined => numberIn(summary, metric.group, metric.name);

const ends = (summary: Summary, group: string, name: string): [number, number] | undefined => {
  const [low, high] = [numberIn(summary, group, `${name}_low`), numberIn(summary, group, `${name}_high`)];
  return low !== undefined && high !== undefined ? [low, high] : undefined;
};

/** The 90 % interval. What a step yields has that of its time or of its energy, turned round. */
export function intervalOf(summary: Summary, metric: Metric): [number, number] | undefined {
  const own = ends(summary, metric.group, metric.name);
  if (own) return own;
  const rates = ["tokens_per_s", "tokens_per_s_per_gpu", "mfu", "hfu", "model_tflops_per_gpu"];
  const cost: [string, string] | undefined = rates.includes(metric.name) ? ["performance", "step_time_s"] : metric.name === "tokens_per_j" ? ["power", "energy_j_per_step"] : undefined;
  const value = valueOf(summary, metric);
  if (!cost || value === undefined) return undefined;
  const [paid, interval] = [numberIn(summary, ...cost), ends(summary, ...cost)];
  return paid !== undefined && interval && interval[0] > 0 ? [(value * paid) / interval[1], (value * paid) / interval[0]] : undefined;
}

/** A part of a record of numbers, in its own order, zeros left out. */
export function partsOf(record: unknown): [string, number][] {
  if (typeof record !== "object" || record === null) return [];
  return Object.entries(record).filter((entry): entry is [string, number] => typeof entry[1] === "number" && entry[1] > 0);
}

/** "llama3-70b on 64 x H200 · TP 4, PP 4, DP 4 · micro batch 1, global batch 128". */
export function jobLine(summary: Summary): string {
  const job = (summary.job ?? {}) as Record<string, Record<string, unknown> | undefined>;
  const { cluster, parallelism: p, training: t } = job;
  const parts: string[] = [];
  const model = modelName(summary);
  if (model) parts.push(model);
  if (cluster?.gpus) parts.push(gpusOf(cluster));
  if (p) {
    const sizes = ["tp", "cp", "pp", "vpp", "ep", "dp"].filter((name) => Number(p[name] ?? 1) > 1).map((name) => `${name.toUpperCase()} ${String(p[name])}`);
    if (sizes.length > 0) parts.push(sizes.join(", "));
  }
  if (t?.global_batch_size) parts.push(`micro batch ${String(t.micro_batch_size)}, global batch ${String(t.global_batch_size)}, sequence ${Number(t.seq_length).toLocaleString("en")}, ${String(t.precision)}`);
  return parts.join(" · ");
}
