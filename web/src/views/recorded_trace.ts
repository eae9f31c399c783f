import type { RecordedOperator, RecordedTrace } from "../document";
import { h } from "../base/dom";
import { plural, quantity, words } from "../base/format";
import { kindToken } from "../base/theme";
import { stackedBars } from "../charts/stacks";
import { legend } from "../parts/legend";
import { picture } from "../parts/picture";
import { table, type Cell } from "../parts/table";

const seconds = (ns: number): number => ns * 1e-9;

/** "sm90_xmma_gemm", "elementwise_kernel<128, 4, gpu_kernel_impl_nocast<CUDAFunctor_add<BFloat16> >": a kernel's name without its namespaces,
    behind which stands what tells it from others of its template; the whole one is in the file. */
function shortName(name: string): string {
  const plain = name.replace(/^void /, "").replaceAll("(anonymous namespace)::", "").replaceAll(/\b\w+::/g, "");
  return plain.length > 112 ? `${plain.slice(0, 110)}…` : plain;
}

const kTypes: Record<string, string> = { "c10::BFloat16": "bf16", "c10::Half": "fp16", float: "fp32", double: "fp64", "c10::Float8_e4m3fn": "fp8", "c10::Float8_e5m2": "fp8" };

/** "mm bf16 8944x1024 1024x2816", of what PyTorch writes as lists. */
function operatorName(row: RecordedOperator): string {
  const list = (text: string | undefined): unknown[] => {
    try { const made: unknown = JSON.parse(text ?? "[]"); return Array.isArray(made) ? made : []; } catch { return []; }
  };
  const types = [...new Set(list(row.dtypes).flatMap((type) => kTypes[String(type)] ?? []))];
  const shapes = list(row.shapes).flatMap((shape) => (Array.isArray(shape) && shape.length > 0 && shape.every((size) => typeof size === "number") ? [shape.join("x")] : []));
  return [row.operator.replace(/^aten::/, ""), types.join("/"), shapes.slice(0, 4).join(" ")].filter(Boolean).join(" ");
}

/** A rank a row: how long, on which GPU, and where the time went; each against its own span. */
export function ranksView(trace: RecordedTrace): HTMLElement | null {
  const { ranks } = trace;
  if (ranks.length === 0) return null;
  const share = (part: number, span: number): number | null => (span > 0 ? part / span : null);
  const gpus = new Set(ranks.map((rank) => rank.gpu ?? ""));
  const marked = ranks.some((rank) => rank.steps);
  const note = gpus.size > 1 ? "The ranks ran on different GPUs: each is told by itself, for the mean of their steps would be a step of none."
    : marked ? "" : "No steps are marked in these traces: times are of all that was recorded.";
  const rows = ranks.map((rank): Cell[] => [rank.rank, rank.gpu ?? "", ...(marked ? [rank.steps?.mean_s ?? null, rank.steps?.count ?? null] : []), seconds(rank.span_ns), share(rank.compute_ns, rank.span_ns), share(rank.communication_ns, rank.span_ns),
    share(rank.exposed_communication_ns, rank.span_ns), share(rank.memory_ns, rank.span_ns), share(rank.exposed_memory_ns, rank.span_ns), share(rank.idle_ns, rank.span_ns), share(rank.idle_cause_ns.late_launch, rank.span_ns), share(rank.idle_cause_ns.queued, rank.span_ns), rank.gpu_events, rank.file.slice(rank.file.lastIndexOf("/") + 1)]);
  return h("div", { class: "block" }, note ? h("p", { class: "note" }, note) : null, table("Ranks", { columns: [{ title: "rank", unit: "" }, { title: "GPU", facet: true }, ...(marked ? [{ title: "step", unit: "s" }, { title: "steps", unit: "" }] : []), { title: "span", unit: "s" }, { title: "compute", unit: "1" }, { title: "communication", unit: "1" },
    { title: "exposed", unit: "1" }, { title: "copies", unit: "1" }, { title: "copies exposed", unit: "1" }, { title: "idle", unit: "1" }, { title: "idle, late launch", unit: "1" }, { title: "idle, queued", unit: "1" }, { title: "GPU events", unit: "" }, { title: "file" }], rows }, { rows: "ranks", limit: 32, filter: rows.length > 32 }));
}

/** One bar of parts, largest first. */
function shares(title: string, note: string, parts: { name: string; ns: number; count: number }[]): HTMLElement | null {
  const known = parts.filter((part) => part.ns > 0);
  const sum = known.reduce((total, part) => total + part.ns, 0);
  if (sum === 0) return null;
  const drawn = known.map((part, i) => ({ title: words(part.name), token: kindToken(part.name, i), value: seconds(part.ns) }));
  return picture({ title, note, summary: known.map((part) => `${words(part.name)} ${quantity(seconds(part.ns), "s")} (${quantity(part.ns / sum, "1")})`).join(", "),
    table: { columns: [{ title: "part" }, { title: "events", unit: "" }, { title: "time", unit: "s" }, { title: "share", unit: "1" }], rows: known.map((part) => [part.name, part.count, seconds(part.ns), part.ns / sum]) },
    draw: (host, width) => host.replaceChildren(legend(drawn), stackedBars([{ label: "GPU time", parts: drawn }], width, { unit: "s", shares: true })) });
}

/** What the GPUs' time went into: phases of the step, classes of kernels, kernels by name. */
export function kernelsView(trace: RecordedTrace): HTMLElement | null {
  const { phases } = trace;
  const named = phases.assigned_fraction > 0 ? shares("Phases", `${quantity(phases.assigned_fraction, "1")} of the GPU time can be told apart.`, phases.rows.map((row) => ({ name: row.phase, ns: row.total_ns, count: row.count }))) : null;
  const untold = named ? null : h("p", { class: "note" }, phases.without_autograd ? "Phases are not told apart: operators ran without autograd (inference), and no range names a phase." : "Phases are not told apart: nothing in the traces names them.");
  const classes = shares("GPU time by class", "", [...trace.classes].sort((a, b) => b.total_ns - a.total_ns).map((row) => ({ name: row.class, ns: row.total_ns, count: row.count })));
  const sum = trace.classes.reduce((total, row) => total + row.total_ns, 0);
  if (sum === 0 && trace.kernels.length === 0) return null;
  return h("div", {}, named, untold, classes, h("div", { class: "block" }, h("h3", {}, "Kernels by name"), table("Kernels", { columns: [{ title: "kernel", wide: true }, { title: "class", facet: true }, { title: "count", unit: "" }, { title: "time", unit: "s" }, { title: "share", unit: "1" }, { title: "shortest", unit: "s" }, { title: "longest", unit: "s" }],
    rows: trace.kernels.map((row): Cell[] => [row.name, row.class, row.count, seconds(row.total_ns), sum > 0 ? row.total_ns / sum : null, seconds(row.shortest_ns), seconds(row.longest_ns)]) }, { rows: "kernels", limit: 12, filter: true, text: (value, row) => (value === row[0] ? shortName(String(value)) : undefined) })));
}

/** How near a row comes to the nearer of the two roofs, and which it is. */
function roof(row: RecordedOperator): [number | null, string] {
  const [flops, bytes] = [row.flops_fraction ?? 0, row.bytes_fraction ?? 0];
  return flops === 0 && bytes === 0 ? [null, ""] : flops >= bytes ? [flops, "FLOPs"] : [bytes, "bandwidth"];
}

/** Operators by shape with what they reach of the GPU's peaks. */
export function operatorsView(trace: RecordedTrace): HTMLElement | null {
  const { operators } = trace;
  if (operators.rows.length === 0) return null;
  const rate = (row: RecordedOperator): number | null => (row.tflops_low === undefined ? null : (row.tflops_low + (row.tflops_high ?? row.tflops_low)) / 2);
  const rows = operators.rows.map((row): Cell[] => [operatorName(row), row.calls, seconds(row.total_ns), rate(row), row.gb_per_s ?? null, ...(operators.peak ? roof(row) : [])]);
  return h("div", { class: "block" }, h("p", { class: "note" }, `Operators are known for ${quantity(operators.operator_fraction, "1")} of the GPU time, their FLOPs for ${quantity(operators.flops_fraction_of_time, "1")}.${operators.peak ? ` The roof is the ${operators.peak.gpu}'s peak in FLOPs or in bandwidth, whichever is nearer: far below both is worth a look.` : " The GPU's peaks are not known, so nothing is said of roofs."}`),
    table("Operators", { columns: [{ title: "operator", wide: true }, { title: "calls", unit: "" }, { title: "GPU time", unit: "s" }, { title: "TFLOP/s", unit: "TFLOP/s" }, { title: "GB/s", unit: "GB/s" }, ...(operators.peak ? [{ title: "of the roof", unit: "1" }, { title: "roof", facet: true }] : [])], rows }, { rows: "operators", limit: 15, filter: true }));
}

/** Time that nobody asked for. */
export function taxesView(trace: RecordedTrace): HTMLElement | null {
  const { taxes } = trace;
  if (!(taxes.span_ns > 0)) return null;
  const { bulk_synchrony: bulk, memory_round_trips: trips, launch } = taxes;
  const waited = bulk.collective_waiting_ns;
  const rows: Cell[][] = [
    ["bulk synchrony", (bulk.host_sync_ns + (waited ?? 0)) / taxes.span_ns, `the GPU idled while a call still waited for it ${quantity(seconds(bulk.host_sync_ns), "s")}; ${waited === null ? "waiting in collectives needs traces of several ranks" : `ranks waited in collectives ${quantity(seconds(waited), "s")}`}`],
    ["memory round trips", trips.upper_bound_ns / taxes.span_ns, `upper bound: ${quantity(trips.bytes, "B")} written and read back between ${plural(trips.pairs, "pair")} of kernels`],
    ["launch", launch.idle_ns / taxes.span_ns, `idle until a late launch took effect: ${quantity(launch.launching_ns / taxes.span_ns, "1")} in launch calls, ${quantity(launch.loading_ns / taxes.span_ns, "1")} loading data, ${quantity(launch.elsewhere_ns / taxes.span_ns, "1")} with the CPU elsewhere, ${quantity(launch.latency_ns / taxes.span_ns, "1")} from call to start; ${plural(launch.short_kernels, "kernel")} over sooner than a launch`],
  ];
  return h("div", { class: "block" }, h("p", { class: "note" }, "Shares of the span. They overlap each other and do not add up."), table("Taxes", { columns: [{ title: "tax" }, { title: "share", unit: "1" }, { title: "what", wide: true }], rows }, { rows: "taxes", text: (value, row) => (row[0] === rows[1]![0] && value === row[1] ? `< ${quantity(Number(value), "1")}` : undefined) }));
}
