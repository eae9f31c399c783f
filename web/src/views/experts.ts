import type { ExpertRow, Summary } from "../document";
import { h } from "../base/dom";
import { quantity } from "../base/format";
import { table } from "../parts/table";

/** What the job would gain by a row's setting, in words. */
function gainOf(row: ExpertRow, asPlayed: ExpertRow): string {
  const share = 1 - row.step_time_s / asPlayed.step_time_s;
  return share >= 0 ? `${quantity(share, "1")} shorter` : `${quantity(-share, "1")} longer`;
}

/** How evenly experts are loaded, and what evening them out would bring; nothing of a job whose routing is even. */
export function expertsView(summary: Summary): HTMLElement | null {
  const [asPlayed, ...changes] = summary.experts ?? [];
  if (!asPlayed) return null;
  const even = changes[0];
  const cost = even ? ` With even routing a step is ${gainOf(even, asPlayed)}.` : "";
  return h("div", {}, h("p", { class: "note" },
    `Everybody waits for the fullest rank of a layer: it has ${quantity(asPlayed.mean_load)} times an even share of the tokens on average over layers, at most ${quantity(asPlayed.most_load)}.${cost}`),
  table("Experts", { columns: [{ title: "setting" }, { title: "fullest rank, mean", unit: "" }, { title: "at most", unit: "" }, { title: "dropped", unit: "1" },
    { title: "step", unit: "s" }, { title: "a step is" }, { title: "memory", unit: "bytes" }],
    rows: [asPlayed, ...changes].map((row) => [row.setting, row.mean_load, row.most_load, row.dropped_fraction || null, row.step_time_s,
      row === asPlayed ? "as played" : gainOf(row, asPlayed), row.peak_memory_bytes]) }, { rows: "settings" }));
}
