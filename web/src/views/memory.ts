import type { Summary } from "../document";
import { quantity, words } from "../base/format";
import { h } from "../base/dom";
import { kindToken } from "../base/theme";
import { stackedBars, type StackRow } from "../charts/stacks";
import { legend } from "../parts/legend";
import { picture } from "../parts/picture";
import { table, type Cell } from "../parts/table";
import { numberIn, partsOf } from "./metrics";

const kParts = ["weights_bytes", "gradients_bytes", "optimizer_bytes", "activations_bytes", "other_bytes"];
const titleOf = (name: string): string => words(name.replace(/_bytes$/, ""));

/** What a GPU holds, and what the allocator keeps besides. */
interface MemoryRow extends StackRow {
  reserved: number;
}

function rowOf(label: string, record: Record<string, unknown>, summary: Summary): MemoryRow {
  const capacity = numberIn(summary, "memory", "capacity_bytes");
  const parts = kParts.map((name) => ({ title: titleOf(name), token: kindToken(name), value: Number(record[name] ?? 0) }));
  return { label, parts, reserved: numberIn(summary, "memory", "reserved_bytes") ?? 0, ...(capacity === undefined ? {} : { limit: capacity }) };
}

/** Bars of memory with the capacity beside them. */
export function memoryPicture(title: string, rows: MemoryRow[]): HTMLElement {
  const sum = (row: StackRow): number => row.parts.reduce((total, part) => total + part.value, 0);
  const worst = [...rows].sort((a, b) => sum(b) / (b.limit ?? 1) - sum(a) / (a.limit ?? 1))[0]!;
  const free = worst.limit === undefined ? undefined : worst.limit - sum(worst) - worst.reserved;
  const besides = worst.reserved > 0 ? `, besides ${quantity(worst.reserved, "bytes")} that the allocator keeps` : "";
  const note = free === undefined ? "" : free < 0
    ? `${worst.label} needs ${quantity(-free, "bytes")} more than there is${besides}: more stages, recomputation or a smaller micro batch.`
    : `${quantity(free, "bytes")} to spare on ${worst.label}${besides}: ${free > 0.3 * worst.limit! ? "room for larger micro batches or less recomputation." : "little room is left."}`;
  return picture({
    title, note,
    summary: rows.map((row) => `${row.label}: ${quantity(sum(row), "bytes")}${row.limit === undefined ? "" : ` of ${quantity(row.limit, "bytes")}`}, ${row.parts.map((part) => `${part.title} ${quantity(part.value, "bytes")}`).join(", ")}`).join(". "),
    table: { columns: [{ title: "of" }, ...kParts.map((name) => ({ title: titleOf(name), unit: "bytes" })), { title: "sum", unit: "bytes" }, { title: "capacity", unit: "bytes" }],
      rows: rows.map((row) => [row.label, ...row.parts.map((part) => part.value), sum(row), row.limit ?? null]) },
    draw: (host, width) => host.replaceChildren(legend(kParts.map((name) => ({ title: titleOf(name), token: kindToken(name) }))),
      stackedBars(rows, width, { unit: "bytes", limitTitle: "capacity" })),
  });
}

export const memoryRow = (label: string, summary: Summary): MemoryRow | undefined =>
  summary.memory && numberIn(summary, "memory", "weights_bytes") !== undefined
    ? rowOf(label, summary.memory, summary) : undefined;

export function memoryView(summary: Summary): HTMLElement | null {
  const whole = memoryRow("fullest GPU", summary);
  if (!whole) return null;
  const stages = (summary.memory?.stages as Record<string, unknown>[] | undefined) ?? [];
  const rows = stages.length > 0 ? stages.map((stage) => rowOf(`stage ${String(stage.stage)}`, stage, summary)) : [whole];
  const details = stages.flatMap((stage) => partsOf(stage.parts).map(([name, value]): Cell[] => [`stage ${String(stage.stage)}`, words(name), value]));
  return h("div", {}, memoryPicture("Memory by stage", rows), details.length > 0
    ? h("details", {}, h("summary", {}, "What the activations and the rest are made of"),
      table("Memory in detail", { columns: [{ title: "stage", facet: true }, { title: "what" }, { title: "bytes", unit: "bytes" }], rows: details },
        { sorted: { column: 2, descending: true }, limit: 20, rows: "parts", filter: true })) : null);
}
