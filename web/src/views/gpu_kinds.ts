import { h } from "../base/dom";
import type { KindPower, Summary } from "../document";
import { table } from "../parts/table";

function powerTable(kinds: KindPower[]): HTMLElement {
  return table("Power and heat by kind", { columns: [{ title: "GPU" }, { title: "node" }, { title: "a GPU", unit: "W" }, { title: "peak", unit: "W" },
    { title: "its nodes at the plug", unit: "W" }, { title: "a step", unit: "J" }, { title: "mean", unit: "C" }, { title: "hottest", unit: "C" },
    { title: "clock", unit: "MHz" }, { title: "throttled", unit: "%" }],
    rows: kinds.map((kind) => [kind.gpu, kind.node, kind.mean_w_per_gpu, kind.peak_w_per_gpu, kind.nodes_mean_w, kind.energy_j_per_step,
      kind.mean_gpu_c, kind.max_gpu_c, kind.mean_clock_mhz, 100 * kind.throttled_time_fraction]) },
  { rows: "kinds" });
}

/** Which kind of GPU runs what, how long it waits and what it draws; nothing of a cluster whose nodes are alike. */
export function gpuKindsView(summary: Summary): HTMLElement | null {
  const kinds = summary.gpu_kinds ?? [], power = summary.power?.kinds ?? [];
  if (!kinds.length) return null;
  const times = table("GPUs by kind", { columns: [{ title: "GPU" }, { title: "node" }, { title: "GPUs" }, { title: "ranks" }, { title: "stages" },
    { title: "compute", unit: "s" }, { title: "exposed communication", unit: "s" }, { title: "idle", unit: "s" }],
    rows: kinds.map((kind) => [kind.gpu, kind.node, kind.gpus, kind.ranks, kind.stages, kind.compute_s, kind.communication_s, kind.idle_s]) },
  { rows: "kinds" });
  return h("div", {}, times, power.length ? powerTable(power) : null);
}
