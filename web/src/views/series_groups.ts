import type { RankColumns, RunDocument, Series, SeriesMetric } from "../document";
import { quantity } from "../base/format";
import { seriesToken, type Token } from "../base/theme";
import { extent } from "../charts/scale";

/** GPUs of one row of the chassis, or all of them: between which values they lie and their median, by time. */
export interface Group {
  title: string;
  token: Token;
  low: (number | null)[];
  median: (number | null)[];
  high: (number | null)[];
}

/** One GPU that is drawn by itself. */
export interface Single {
  title: string;
  token: Token;
  values: (number | null)[];
}

/** A level at which GPUs are held back. */
export interface Limit {
  title: string;
  value: number;
}

/** What is drawn of a metric. */
export interface Drawn {
  groups: Group[];
  singles: Single[];
  limits: Limit[];
  /** The least and the highest value that the picture shows. */
  range: [number, number];
}

/** Up to so many GPUs each has a line of its own. */
const kOwnLines = 8;
/** Of less than that, and of less than this share of the highest value, nobody learns: noise would fill the picture. */
const kLeastRange: Record<string, number> = { W: 50, "°C": 10, C: 10, MHz: 100, "%": 20, "GB/s": 1e-3 };
const kLeastShare = 0.05;
/** No value of these lies above. */
const kMost: Record<string, number> = { "%": 100 };
/** A limit further above the values than this many times their range is told, not drawn. */
const kInReach = 3;

function groupOf(title: string, token: Token, lines: (number | null)[][], times: number): Group {
  const group: Group = { title, token, low: [], median: [], high: [] };
  for (let i = 0; i < times; ++i) {
    const values = lines.flatMap((line) => line[i] ?? []).sort((a, b) => a - b);
    group.low.push(values[0] ?? null);
    group.median.push(values[(values.length - 1) >> 1] ?? null);
    group.high.push(values[values.length - 1] ?? null);
  }
  return group;
}

/** By row of the chassis where rows are known, else all together. */
function groupsOf(metric: SeriesMetric, times: number, row: number[] | undefined): Group[] {
  const rows = new Map<number, (number | null)[][]>();
  for (const gpu of metric.gpus) {
    const at = gpu.slot === undefined ? 0 : (row?.[gpu.slot] ?? 0);
    rows.set(at, [...(rows.get(at) ?? []), gpu.values]);
  }
  const several = rows.size > 1;
  return [...rows].sort(([a], [b]) => a - b).map(([at, lines]) => groupOf(several ? `row ${at}` : "GPUs", seriesToken(at), lines, times));
}

/** Of the ranks that have lines those that are always told of: the hottest, the slowest and the median one, by their step. */
function telling(ranks: RankColumns | undefined, lines: Set<number>): { title: string; rank: number }[] {
  if (!ranks) return [];
  const nearest = (title: string, values: number[] | undefined, share: number): { title: string; rank: number }[] => {
    if (!values) return [];
    const wanted = [...values].sort((a, b) => a - b)[Math.floor(share * (values.length - 1))]!;
    const far = (i: number): number => Math.abs(values[i]! - wanted);
    const known = ranks.rank.flatMap((rank, i) => (lines.has(rank) ? [i] : []));
    return known.length > 0 ? [{ title, rank: ranks.rank[known.reduce((best, i) => (far(i) < far(best) ? i : best))]! }] : [];
  };
  return [...nearest("hottest", ranks.max_gpu_c, 1), ...nearest("slowest", ranks.mean_clock_mhz, 0), ...nearest("median", ranks.mean_gpu_c, 0.5)];
}

function singlesOf(metric: SeriesMetric, run: RunDocument, every: boolean): Single[] {
  if (every || metric.gpus.length <= kOwnLines) {
    const rows = run.chassis?.row;
    return metric.gpus.map((gpu, i) => ({ title: gpu.label, values: gpu.values, token: seriesToken(metric.gpus.length > kOwnLines && gpu.slot !== undefined ? (rows?.[gpu.slot] ?? i) : i) }));
  }
  const lines = new Set(metric.gpus.flatMap((gpu) => gpu.rank ?? []));
  const told = telling(run.ranks, lines).filter(({ title }) => metric.distribution || title === "hottest");
  return told.flatMap(({ title, rank }, i) => {
    const gpu = metric.gpus.find((one) => one.rank === rank);
    return gpu ? [{ title: `${title}: ${gpu.label}`, token: seriesToken(3 + i), values: gpu.values }] : [];
  });
}

const kLimits: Record<string, [keyof Series["limits"], string][]> = {
  power_w: [["power_cap_w", "power cap"], ["tdp_w", "TDP"]],
  gpu_c: [["target_c", "clocks fall"], ["slowdown_c", "slowdown"]],
  memory_c: [["memory_c", "memory's limit"]],
};

/** Levels of the metric; two that are the same are one. */
export function limitsOf(metric: SeriesMetric, limits: Series["limits"]): Limit[] {
  const all: Limit[] = [];
  for (const [name, title] of kLimits[metric.name] ?? []) {
    const value = limits[name];
    if (value === undefined) continue;
    const same = all.find((one) => one.value === value);
    if (same) same.title += `, ${title}`;
    else all.push({ title, value });
  }
  return all.map(({ title, value }) => ({ title: `${title} ${quantity(value, metric.unit).replace(".0", "")}`, value }));
}

/** Widened to a range that noise does not fill, and to the limits within reach. */
function rangeOf(metric: SeriesMetric, values: (number | null)[], limits: Limit[]): [number, number] {
  let [low, high] = extent(values);
  const least = Math.max(kLeastRange[metric.unit] ?? 0, kLeastShare * Math.max(Math.abs(low), Math.abs(high)));
  if (high - low < least) {
    const most = kMost[metric.unit] ?? Infinity;
    const top = high <= most ? Math.min(most, (low + high + least) / 2) : (low + high + least) / 2;
    const from = low >= 0 ? Math.max(0, top - least) : top - least;
    [low, high] = [from, from + least];
  }
  for (const { value } of limits) if (value > high && value - high <= kInReach * (high - low)) high = Math.max(high, value);
  return [low, high];
}

export function drawnOf(metric: SeriesMetric, run: RunDocument, every: boolean): Drawn {
  const series = run.series!;
  const times = metric.gpus[0]?.values.length ?? metric.distribution?.p50.length ?? 0;
  const d = metric.distribution;
  const all: Group[] = d ? [{ title: "all GPUs", token: "idle", low: d.lowest, median: d.p50, high: d.highest }] : [];
  const rows = metric.gpus.length > kOwnLines && !every ? groupsOf(metric, times, run.chassis?.row) : [];
  const groups = [...all, ...rows];
  const singles = singlesOf(metric, run, every);
  const limits = limitsOf(metric, series.limits ?? {});
  const values = [...groups.flatMap((group) => [...group.low, ...group.high]), ...singles.flatMap((single) => single.values)];
  const range = rangeOf(metric, values, limits);
  return { groups, singles, limits, range };
}
