/**
 * What `ergometer report` puts into the page: one document, made by src/page, read by every view. Names and units are
 * those of `simulate --json`; a "column" is an array with one entry a row, so that 8,192 GPUs stay small. Optional
 * parts are absent when nothing is known of them, never empty or zero.
 */
export interface ReportDocument {
  schema_version: number;
  ergometer_version: string;
  title: string;
  /** One: the page of a job. Several: side by side. None: the page of a study. */
  runs: RunDocument[];
  /** Of two Runs: what makes the difference. Of more: absent. */
  comparison?: ComparisonDocument;
  /** `report JOB --what-if LIST`: of one job, the jobs around it. */
  what_if?: WhatIfDocument;
  study?: StudyDocument;
  /** Of several Runs: every member of their jobs that is not the same in all, with a value a Run; "" where it has none. */
  differences?: { name: string; values: string[] }[];
}

export type Fit = "fits" | "at risk" | "does not fit";

export interface RunDocument {
  /** What the user calls it: the file's name without folder and ending. */
  name: string;
  /** The contract's summary, as `simulate --json` or `analyze --json` prints it, `ranks` left out. */
  summary: Summary;
  /** Of a prediction: what its odds of fitting in memory, `memory.fit_probability`, are called. */
  fit?: Fit;
  findings: Finding[];
  assumptions: Assumption[];
  ranks?: RankColumns;
  /** One node from above, by local index of the GPU; row 0 is nearest the coolant's inlet. */
  chassis?: { row: number[]; lane: number[]; cooling: string };
  timeline?: Timeline;
  series?: Series;
  /** Where a step's joules go, of a predicted job. */
  energy_stacks?: EnergyStacks;
  /** Time by communicating group, slowest first. */
  collectives?: CollectiveColumns;
  /** Absent of what was simulated. */
  recorded?: Recorded;
}

/** Groups of the interface contract; a group that nothing is known of is absent. */
export interface Summary {
  source: "simulated" | "recorded" | "imported";
  performance?: Record<string, unknown>;
  memory?: Record<string, unknown>;
  power?: { kinds?: KindPower[]; [key: string]: unknown };
  thermal?: Record<string, unknown>;
  cluster_power?: Record<string, unknown>;
  links?: LinkUse[];
  experts?: ExpertRow[];
  sequences?: SequenceRow[];
  packing?: PackingRow[];
  gpu_kinds?: GpuKind[];
  limiter?: string;
  job?: Record<string, unknown>;
  [key: string]: unknown;
}

/** Of a recording, bytes of all that was read, by direction; by step and line rate only where these are known. */
/** A setting that decides how evenly experts are loaded, and what the job takes with it; the first row is the job as played. */
export interface ExpertRow {
  setting: string;
  step_time_s: number;
  /** Of a layer's fullest rank, in even shares: mean over layers and most. */
  mean_load: number;
  most_load: number;
  dropped_fraction: number;
  peak_memory_bytes: number;
}

/** What documents of unlike length cost under a setting, over drawn steps; the first row is the job as played, the second its work in equal parts. */
export interface SequenceRow {
  setting: string;
  step_time_s: number;
  step_time_s_low: number;
  step_time_s_high: number;
  /** Of documents: padding does not count. */
  tokens_per_s: number;
  padding_fraction: number;
  attention_fraction: number;
  waiting_fraction: number;
  /** Work of the replica with most, over the mean of all. */
  slowest_load: number;
  peak_memory_bytes: number;
}

/** How samples of text and images lie in micro batches under a setting, mean over drawn steps; the first row is the job as played. */
export interface PackingRow {
  setting: string;
  /** Of what micro batches have room for in tokens. */
  padding_fraction: number;
  /** What replicas have less than the one with most, of micro batches that run at the same time, over what all would have with as much. */
  token_distance: number;
  tile_distance: number;
  /** Of a micro batch. */
  tokens: number;
  tiles: number;
}

/** The GPUs of one group of a cluster of unlike nodes; times of a step, means over them. */
export interface GpuKind {
  gpu: string;
  node: string;
  gpus: number;
  /** "0-15", "0, 2-3" */
  ranks: string;
  stages: string;
  compute_s: number;
  communication_s: number;
  idle_s: number;
}

/** Power and heat of the GPUs of one group of a cluster of unlike nodes, means over them and over time; energies of a step. */
export interface KindPower {
  gpu: string;
  node: string;
  mean_w_per_gpu: number;
  peak_w_per_gpu: number;
  /** All of its nodes at their plugs. */
  nodes_mean_w: number;
  energy_j_per_step: number;
  gpu_energy_j_per_step: number;
  mean_gpu_c: number;
  max_gpu_c: number;
  mean_clock_mhz: number;
  throttled_time_fraction: number;
}

export interface LinkUse {
  kind: string;
  bytes_per_step?: number;
  mean_gb_per_s: number;
  peak_gb_per_s: number;
  utilization?: number;
  direction?: string;
  devices?: number;
  bytes?: number;
  /** Share of the time near the line rate. */
  saturated_fraction?: number;
  /** Some of its counters could not be read. */
  partial?: boolean;
}

export interface Finding {
  /** A sentence that says what was seen; then what to do about it. */
  text: string;
  advice?: string;
  /** What it costs in a step; absent where it cannot be told. */
  cost_s?: number;
  cost_j?: number;
  /** Half the 90 % interval of `cost_j`, where sensors measured it. */
  cost_j_error_pct?: number;
  /** The command that checks or tries it. */
  check?: string;
  /** How sure: "measured", "likely", ... */
  confidence?: string;
  /** What kind it is: "exposed_communication". */
  name?: string;
  /** Share of the step that it costs. */
  fraction?: number;
}

export interface Assumption {
  /** "job", "model", "gpu", "node", "fabric", "software", "kernels", ... */
  group: string;
  /** The setting or parameter by its name in job files and the catalog. */
  name: string;
  value: string;
  /** "--tp", "job.yaml:14", "default: ...", or the catalog entry's own source. */
  source: string;
  /** How far to trust a number: "data sheet", "measured", "fitted", "assumed"; absent for what the user said. */
  grade?: string;
}

/** One entry a rank, in order of rank. */
export interface RankColumns {
  rank: number[];
  node: number[];
  slot: number[];
  stage: number[];
  mean_power_w?: number[];
  peak_power_w?: number[];
  mean_gpu_c?: number[];
  max_gpu_c?: number[];
  mean_clock_mhz?: number[];
  throttled_time_fraction?: number[];
  /** Seconds of the step by part, the names of `performance.breakdown_s`. */
  breakdown_s?: Record<string, number[]>;
}

export interface Timeline {
  step_s: number;
  /** Text tables that the columns below point into. */
  names: string[];
  /** "gemm", "attention", "memory", "collective", "send_recv", "optimizer", "wait", ... */
  categories: string[];
  streams: string[];
  ranks: TimelineRank[];
  /** Why some ranks or kernels are not here; absent when all are. */
  left_out?: string;
}
export interface TimelineRank {
  rank: number;
  stage: number;
  node?: number;
  slot?: number;
  /** Passes of micro batches and the work around them, the coarse view: kinds are "forward", "backward", "backward_weight",
   *  "send", "receive", "gradient_reduction", "parameter_gather", "embedding_reduction", "gradient_norm", "optimizer", "host",
   *  "wait", "other". Those that are not `beside` others follow each other; of a prediction they add up to the step. */
  tasks?: { kind: string[]; micro_batch: number[]; chunk: number[]; start_us: number[]; duration_us: number[];
    /** 1: on a stream beside the compute stream. */
    beside: number[];
    /** Index into `names`: the operator; of a wait for whom or what; -1: not known. */
    what: number[] };
  /** Single kernels and waits, of all the step or of windows of it; stream, name and category are indices. */
  kernels?: {
    windows_us: [number, number][];
    stream: number[];
    name: number[];
    category: number[];
    start_us: number[];
    duration_us: number[];
    micro_batch: number[];
    layer: number[];
  };
}

/**
 * Values over time. Up to 64 GPUs all are here; of more, chosen ones and, for every time, how all are distributed. Of a
 * prediction the chosen ones are the median GPU of every stage and row of the chassis, the hottest, the slowest and the
 * median one.
 */
export interface Series {
  time_s: number[];
  /** At what GPUs are held back, and over how long a reading of power is averaged; each where known. */
  limits: { power_cap_w?: number; tdp_w?: number; slowdown_c?: number; target_c?: number; memory_c?: number; power_window_s?: number };
  /** Of a recording: when time_s is 0, nanoseconds since 1970. */
  epoch_ns?: number;
  metrics: SeriesMetric[];
  /** The cluster at its plugs. */
  cluster_power?: { time_s: number[]; watts: number[] };
}
export interface SeriesMetric {
  /** "power_w", "gpu_c", "memory_c", "sm_clock_mhz", ... */
  name: string;
  title: string;
  unit: string;
  /** One line a GPU; null where the sensor said nothing. */
  gpus: { label: string; rank?: number; node?: number; slot?: number; values: (number | null)[] }[];
  /** Over all GPUs, at the same times. */
  distribution?: { lowest: number[]; p5: number[]; p50: number[]; p95: number[]; highest: number[] };
}

/** Frames from outside inwards, "stage 0;backward;dense layer;fc1": joules of all GPUs in a step; seconds of the step, mean over GPUs. */
export interface EnergyStacks {
  stack: string[];
  joules: number[];
  seconds: number[];
}

export interface CollectiveColumns {
  group: string[];
  kind: string[];
  calls: number[];
  bytes: number[];
  total_s: number[];
  exposed_s: number[];
  bus_gb_per_s: (number | null)[];
}

/** `ergometer compare A B --json`. */
export interface ComparisonDocument {
  /** What is explained, each with its two values: "step_time_s", "energy_j_per_step". */
  quantities: { name: string; unit: string; a: number; b: number }[];
  causes: Cause[];
  /** By quantity: what the causes leave unexplained. */
  residual: Record<string, number>;
  /** Settings and facts that differ. */
  differences: { name: string; a: string; b: string }[];
  /** What the user calls the two. */
  a?: string;
  b?: string;
  /** Jobs between the two were simulated, or parts of the step as they were measured stand side by side. */
  method?: "counterfactual" | "measured";
  simulations?: number;
  /** What it comes to, a sentence. */
  verdict?: string;
  /** Of the step time, by part of the breakdown; `parts_residual` is what the causes leave of each. */
  parts?: { name: string; unit: string; a: number; b: number }[];
  parts_residual?: Record<string, number>;
  /** Beside each other, not explained: clocks, temperatures, power of recorded jobs. */
  facts?: { name: string; unit: string; a: number; b: number }[];
  /** What to know before believing it. */
  notes?: string[];
}
export interface Cause {
  id: string;
  title: string;
  /** What differs, a sentence. */
  detail: string;
  /** By quantity: its share of b - a. */
  amount: Record<string, number>;
  /** Of the step time, by part of the breakdown; sums to amount.step_time_s. */
  parts?: Record<string, number>;
  differences?: { name: string; a: string; b: string }[];
}

/** A job between its neighbours, all of them simulated, itself among them. Columns have an entry a job. */
export interface WhatIfDocument {
  /** Settings that are varied. `word`: what a user calls one, "tp"; `own`: index of the job's own value. */
  ladders: { word: string; name: string; help: string; unit?: string; values: string[]; own: number }[];
  /** Of every job the index of its value on each ladder. */
  at: number[][];
  /** Which of them is the job itself. */
  job: number;
  /** Data parallelism: what is left of the GPUs. */
  replicas: number[];
  /** What its odds of fitting in memory, `numbers["memory.fit_probability"]`, are called. */
  fit: Fit[];
  /** What to do about memory; empty: nothing. */
  advice: string[];
  /** By its name in `simulate --json`, "performance.step_time_s"; of what is not known of the job there is no column. */
  numbers: Record<string, (number | null)[]>;
  /** Why a neighbour is not as the job, as `compare --json` says it; null of the job itself. */
  comparisons: (ComparisonDocument | null)[];
}

export interface StudyDocument {
  name: string;
  title: string;
  question: string;
  axes: { name: string; values: string[] }[];
  points: StudyPoint[];
  figures: Figure[];
  findings: StudyFinding[];
}
export interface StudyPoint {
  id: string;
  family?: string;
  axes: Record<string, string>;
  status: "ok" | "does-not-fit" | "refused";
  reason?: string;
  notes?: string[];
  /** What the job said, by setting: enough to run it again. */
  settings: Record<string, string>;
  summary?: Summary;
}
export interface Figure {
  id: string;
  /** "Figure 4", or empty. */
  label: string;
  title: string;
  /** What to see in it, and what to do next. */
  caption: string;
  kind: "line" | "bar" | "stack" | "scatter" | "heat-map";
  x: { title: string; unit?: string; log?: boolean; /** of bars, stacks and heat maps */ categories?: string[] };
  y: { title: string; unit?: string; log?: boolean; /** of heat maps */ categories?: string[] };
  series: FigureSeries[];
  /** What the original's readers report of it; absent for figures of our own. */
  reported?: string;
  /** A panel beside others of the same id. */
  panel?: string;
}
export interface FigureSeries {
  label: string;
  /** One a value: number on x, or index into x.categories. */
  x: number[];
  y: (number | null)[];
  low?: (number | null)[];
  high?: (number | null)[];
  /** Of heat maps: the cell's value; y is then the index into y.categories. */
  value?: (number | null)[];
  /** Index of the study's point behind each value; -1: none. */
  point?: number[];
}
export interface StudyFinding {
  /** "sign.rear-hotter", "size.hot-clocks"; "open.…" is a question that was asked and not answered, so nothing can agree. */
  id: string;
  title: string;
  reported: string;
  source: string;
  predicted: string;
  agrees: "yes" | "in part" | "no";
  why: string;
  /** Indices of the points that it rests on. */
  points?: number[];
}

/** Of what was recorded or imported: members as `analyze --json` prints them; the longest tables are cut, `left_out` says by how much. */
export interface Recorded {
  trace?: RecordedTrace;
  left_out?: Record<string, number>;
  telemetry?: RecordedTelemetry;
  critical_path?: {
    span_ns: number;
    kinds: { kind: string; on_path_ns: number; saved_if_free_ns?: number }[];
    ranks: { rank: number; on_path_ns: number }[];
  };
  process_groups?: RecordedGroup[];
  clock_offsets?: { reference_rank: number; ranks: { rank: number; applied: boolean; offset_ns?: number; drift_ppm?: number; uncertainty_ns?: number }[] };
  anomalies?: { slow_steps: Record<string, unknown>[]; deviations: Record<string, unknown>[]; [key: string]: unknown };
  /** What was predicted of the job before it ran, beside what was measured. */
  prediction?: { job: string; gpus: number; quantities: PredictedQuantity[] };
  /** Stretches of time that training logs name; as the series, since 1970. */
  marks?: { log: string; name: string; start_ns: number; end_ns: number }[];
  [key: string]: unknown;
}
export interface PredictedQuantity {
  /** A name of the summary: "step_time_s". */
  name: string;
  unit: string;
  /** `low` to `high` is the 90 % interval; all three are the same where there is none. */
  value: number;
  low: number;
  high: number;
  measured: number | null;
  state: "inside" | "above" | "below" | "no_interval" | "not_measured";
}
export interface RecordedTrace {
  ranks: RecordedRank[];
  dropped: { file: string; reason: string; count: number }[];
  kernels: { name: string; class: string; kind: string; count: number; total_ns: number; shortest_ns: number; longest_ns: number }[];
  arrivals?: { matched: number; unmatched: number; skew_ns: number; transfer_ns: number; ranks: { rank: number; last: number; lateness_ns: number; waiting_ns: number }[] };
  classes: { class: string; count: number; total_ns: number }[];
  phases: { total_ns: number; assigned_fraction: number; without_autograd: boolean; rows: { phase: string; count: number; total_ns: number; busy_ns: number }[] };
  operators: { operator_fraction: number; flops_fraction_of_time: number; peak?: { gpu: string }; rows: RecordedOperator[] };
  taxes: {
    span_ns: number;
    bulk_synchrony: { collective_waiting_ns: number | null; host_sync_ns: number };
    memory_round_trips: { upper_bound_ns: number; pairs: number; bytes: number };
    launch: { idle_ns: number; launching_ns: number; loading_ns: number; elsewhere_ns: number; latency_ns: number; short_kernels: number };
  };
  energy?: RankEnergy[];
}
/** What the sensor of a rank's GPU tells; of what is not there `refused` says why. Errors are half a 90 % interval, where sensors measured. */
export interface RankEnergy {
  rank: number;
  /** Of the sensor, within the trace; 0: `measured_j` and `mean_w` are of nothing. */
  windows: number;
  measured_j: number;
  mean_w: number;
  measured_error_pct?: number;
  step_j?: number;
  step_error_pct?: number;
  refused?: string;
  classes?: EnergyRow[];
  phases?: EnergyRow[];
}
export interface RecordedRank {
  rank: number;
  file: string;
  gpu?: string;
  gpu_events: number;
  span_ns: number;
  compute_ns: number;
  communication_ns: number;
  exposed_communication_ns: number;
  memory_ns: number;
  exposed_memory_ns: number;
  idle_ns: number;
  idle_cause_ns: { late_launch: number; queued: number; unknown: number };
  steps?: { count: number; first: number; last: number; mean_s: number };
  truncated: boolean;
}
export interface RecordedOperator {
  operator: string;
  shapes?: string;
  dtypes?: string;
  calls: number;
  total_ns: number;
  tflops_low?: number;
  tflops_high?: number;
  gb_per_s?: number;
  flops_fraction?: number;
  bytes_fraction?: number;
}
export interface EnergyRow {
  name: string;
  seconds: number;
  watts: number;
  joules: number;
  /** Of both. */
  joules_error_pct?: number;
}
export interface RecordedGroup {
  group: string;
  description: string;
  parallelism: string;
  group_size: number;
  events: number;
  total_ns: number;
  exposed_ns: number;
  waiting_ns: number;
  transfer_ns: number;
  verdict?: string;
  straggler?: { rank: number; persistent: boolean; last_share: number; caused_waiting_ns: number; cause: string; saved_if_equal_ns?: number };
}
export interface Levels {
  mean: number;
  lowest: number;
  highest: number;
}
export interface RecordedDevice {
  rank?: number;
  index?: number;
  name?: string;
  host: string;
  start_ns: number;
  end_ns: number;
  mean_w?: number;
  peak_w?: number;
  energy_j?: number;
  readings?: number;
  [metric: string]: unknown;
}
export interface RecordedTelemetry {
  gpus: RecordedDevice[];
  nodes: RecordedDevice[];
  cpus?: RecordedDevice[];
  ports?: RecordedDevice[];
  training: Record<string, unknown>[];
  meters: Record<string, unknown>[];
  notes: string[];
  dropped: { file: string; reason: string; count: number }[];
  [key: string]: unknown;
}
