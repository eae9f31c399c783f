import type { Assumption } from "../document";
import { h } from "../base/dom";
import { table, type Cell } from "../parts/table";

const kGood = new Set(["data sheet", "datasheet", "measured"]);

/** Every value behind the prediction with its source: what is only assumed is worth checking first. */
export function assumptionsView(assumptions: Assumption[]): HTMLElement | null {
  if (assumptions.length === 0) return null;
  const guessed = assumptions.filter((one) => one.grade === "assumed").length;
  const rows = assumptions.map((one): Cell[] => [one.group, one.name, one.value, one.grade ?? "", one.source]);
  return h("div", { class: "block" },
    h("p", { class: "note" }, guessed > 0
      ? `${assumptions.length} values stand behind these numbers, ${guessed} of them assumed: measure those first if a number looks wrong.`
      : `${assumptions.length} values stand behind these numbers.`),
    table("Job and assumptions", { columns: [{ title: "group", facet: true }, { title: "name" }, { title: "value" }, { title: "grade", facet: true }, { title: "source", wide: true }], rows },
      { filter: true, rows: "values", limit: 40, mark: (value, column) => (column !== 3 || value === "" ? undefined : value === "assumed" ? "fair" : kGood.has(String(value)) ? "good" : undefined) }));
}
