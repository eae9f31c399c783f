import type { Summary } from "../document";
import { table } from "../parts/table";

/** Which kind of GPU runs what, and how long it waits; nothing of a cluster whose nodes are alike. */
export function gpuKindsView(summary: Summary): HTMLElement | null {
  const kinds = summary.gpu_kinds ?? [];
  if (!kinds.length) return null;
  return table("GPUs by kind", { columns: [{ title: "GPU" }, { title: "node" }, { title: "GPUs" }, { title: "ranks" }, { title: "stages" },
    { title: "compute", unit: "s" }, { title: "exposed communication", unit: "s" }, { title: "idle", unit: "s" }],
    rows: kinds.map((kind) => [kind.gpu, kind.node, kind.gpus, kind.ranks, kind.stages, kind.compute_s, kind.communication_s, kind.idle_s]) },
  { rows: "kinds" });
}
