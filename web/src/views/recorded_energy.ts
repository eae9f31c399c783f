import type { RecordedTrace } from "../document";
import { h } from "../base/dom";
import { table, type Cell, type Column } from "../parts/table";

const kError: Column = { title: "±, 90 %", unit: "%" };

/** What the power sensor beside a trace tells: joules of every rank and of its step, and which kernels and phases draw them. */
export function energyByKernelView(trace: RecordedTrace): HTMLElement | null {
  const energy = trace.energy ?? [];
  if (energy.length === 0) return null;
  const ranks = energy.map((rank): Cell[] => [rank.rank, ...(rank.windows > 0 ? [rank.measured_j, rank.measured_error_pct ?? null, rank.mean_w] : [null, null, null]), rank.step_j ?? null, rank.step_error_pct ?? null, rank.refused ?? ""]);
  const parts = energy.flatMap((rank) => [...(rank.classes ?? []).map((row) => ({ by: "kernels", row })), ...(rank.phases ?? []).map((row) => ({ by: "phase", row }))]
    .map(({ by, row }): Cell[] => [rank.rank, by, row.name, row.seconds, row.watts, row.joules, row.joules_error_pct ?? null]));
  const note = "Watts are of the whole GPU while it runs, by a regression over the sensor's readings. ±: half the 90 % interval, by the gain of the sensor with what it did not see, or with the error of the regression.";
  return h("div", { class: "block" }, h("p", { class: "note" }, note),
    table("Measured energy", { columns: [{ title: "rank", unit: "" }, { title: "energy", unit: "J" }, kError, { title: "mean power", unit: "W" }, { title: "energy of a step", unit: "J" }, kError, { title: "why not by kernel", wide: true }], rows: ranks }, { rows: "ranks", limit: 16 }),
    parts.length > 0 ? table("Energy by kernel", { columns: [{ title: "rank", unit: "" }, { title: "by", facet: true }, { title: "name" }, { title: "time", unit: "s" }, { title: "power", unit: "W" }, { title: "energy", unit: "J" }, kError], rows: parts }, { rows: "rows", limit: 24, filter: true }) : null);
}
