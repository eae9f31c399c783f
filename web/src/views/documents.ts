import type { PackingRow, Summary } from "../document";
import { h } from "../base/dom";
import { quantity } from "../base/format";
import { table } from "../parts/table";

/** How samples with images lie in micro batches. */
function packingView(rows: PackingRow[]): HTMLElement[] {
  if (!rows.length) return [];
  return [h("p", { class: "note" },
    "How samples lie in micro batches: padding is of the tokens that there is room for; a distance is what replicas have less than the one with most at the same time."),
  table("Packing", { columns: [{ title: "setting" }, { title: "padding", unit: "1" }, { title: "tokens, mean", unit: "" }, { title: "distance in tokens", unit: "1" },
    { title: "tiles, mean", unit: "" }, { title: "distance in tiles", unit: "1" }],
    rows: rows.map((row) => [row.setting, row.padding_fraction, row.tokens, row.token_distance, row.tiles, row.tile_distance]) }, { rows: "settings" })];
}

/** What documents of unlike length cost, and what balance or packing would bring; nothing of a job whose documents are alike. */
export function documentsView(summary: Summary): HTMLElement | null {
  const rows = summary.sequences ?? [];
  const [asPlayed] = rows;
  if (!asPlayed) return null;
  return h("div", {}, h("p", { class: "note" },
    `Replicas wait for the one whose documents are most work: it has ${quantity(asPlayed.slowest_load)} times the mean, and waiting is ${quantity(asPlayed.waiting_fraction, "1")} of a step, mean over ranks. Attention is ${quantity(asPlayed.attention_fraction, "1")} of the compute time.`),
  table("Documents", { columns: [{ title: "setting" }, { title: "step, mean", unit: "s" }, { title: "least", unit: "s" }, { title: "most", unit: "s" },
    { title: "waiting", unit: "1" }, { title: "padding", unit: "1" }, { title: "tokens a second", unit: "" }, { title: "memory", unit: "bytes" }],
    rows: rows.map((row) => [row.setting, row.step_time_s, row.step_time_s_low, row.step_time_s_high, row.waiting_fraction, row.padding_fraction || null,
      row.tokens_per_s, row.peak_memory_bytes]) }, { rows: "settings" }),
  ...packingView(summary.packing ?? []));
}
