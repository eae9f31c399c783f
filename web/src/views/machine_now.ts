import type { RunDocument, SeriesMetric } from "../document";
import { extent } from "../charts/scale";
import { indexAt } from "./series";

/** A metric of every GPU at any moment. */
export interface Course {
  /** Of the series' metric. */
  name: string;
  title: string;
  unit: string;
  /** From the lowest to the highest that any GPU has at any time. */
  range: [number, number];
  /** Whether every GPU has readings of its own. */
  whole: boolean;
  /** One value a rank, in the order of `run.ranks`. */
  at(time: number): number[];
}

const kMeans: Record<string, "mean_power_w" | "mean_gpu_c" | "mean_clock_mhz" | undefined> = { power_w: "mean_power_w", gpu_c: "mean_gpu_c", sm_clock_mhz: "mean_clock_mhz" };
const kTitles: [string, string][] = [["gpu_c", "temperature now"], ["power_w", "power now"], ["sm_clock_mhz", "clock now"]];

/** For every rank the line that it follows: its own, or that of the GPU of its stage and row whose mean is nearest. */
function leaders(run: RunDocument, metric: SeriesMetric, means: number[] | undefined): number[] {
  const ranks = run.ranks!;
  const index = new Map(ranks.rank.map((rank, i) => [rank, i]));
  const own = new Map<number, number>();
  const groups = new Map<string, number[]>();
  const groupOf = (i: number): string => `${ranks.stage[i]} ${run.chassis?.row[ranks.slot[i]!] ?? 0}`;
  metric.gpus.forEach((gpu, line) => {
    const i = gpu.rank === undefined ? undefined : index.get(gpu.rank);
    if (i === undefined) return;
    own.set(i, line);
    for (const key of [groupOf(i), groupOf(i).split(" ")[1]!, ""]) groups.set(key, [...(groups.get(key) ?? []), line]);
  });
  const meanOf = (line: number): number => means?.[index.get(metric.gpus[line]!.rank!)!] ?? 0;
  return ranks.rank.map((_, i) => {
    const line = own.get(i);
    if (line !== undefined) return line;
    const near = groups.get(groupOf(i)) ?? groups.get(groupOf(i).split(" ")[1]!) ?? groups.get("") ?? [];
    return near.reduce((best, one) => (best < 0 || Math.abs(meanOf(one) - (means?.[i] ?? 0)) < Math.abs(meanOf(best) - (means?.[i] ?? 0)) ? one : best), -1);
  });
}

function courseOf(run: RunDocument, metric: SeriesMetric, title: string): Course | undefined {
  const ranks = run.ranks!;
  const mean = kMeans[metric.name];
  const means = mean ? ranks[mean] : undefined;
  const follows = leaders(run, metric, means);
  if (follows.some((line) => line < 0)) return undefined;
  const index = new Map(ranks.rank.map((rank, i) => [rank, i]));
  // By how much a rank's mean is another than that of the GPU it follows.
  const apart = follows.map((line, i) => (means ? means[i]! - means[index.get(metric.gpus[line]!.rank!)!]! : 0));
  const values = metric.distribution ? [...metric.distribution.lowest, ...metric.distribution.highest] : metric.gpus.flatMap((gpu) => gpu.values);
  const times = run.series!.time_s;
  return { name: metric.name, title, unit: metric.unit === "C" ? "°C" : metric.unit, range: extent(values), whole: metric.gpus.length >= ranks.rank.length,
    at: (time) => {
      const now = indexAt(times, time);
      return follows.map((line, i) => (metric.gpus[line]!.values[now] ?? NaN) + apart[i]!);
    } };
}

/** What the machine can show at a moment; none of a Run without ranks or readings. */
export function coursesOf(run: RunDocument): Course[] {
  if (!run.ranks || !run.series) return [];
  return kTitles.flatMap(([name, title]) => {
    const metric = run.series!.metrics.find((one) => one.name === name);
    return metric && metric.gpus.length > 0 ? (courseOf(run, metric, title) ?? []) : [];
  });
}
