import type { ReportDocument } from "../document";
import { h } from "../base/dom";
import { plural, quantity } from "../base/format";
import { table, type Cell, type TableData } from "../parts/table";

type Difference = NonNullable<ReportDocument["differences"]>[number];

/** Numbers of the job whose name says their unit, as people read them: memory in binary units, rates in decimal ones. */
function readable(value: Cell, [name]: Cell[]): string | undefined {
  const unit = /_(bytes|bytes_per_s|hz)(_|$)/.exec(String(name))?.[1];
  return unit && value !== name && value !== null ? quantity(Number(value), { bytes: "bytes", bytes_per_s: "B/s", hz: "Hz" }[unit]) : undefined;
}

/** What the machine, the model and the layout come to, whoever chose them. */
const kDerived = new Set(["parallelism.dp", "parallelism.etp", "parallelism.microbatch_group", "training.micro_batches", "training.padded_vocab", "cluster.nodes"]);
/** A cluster, a model or a recipe by its name says all that stands below it; its GPU is worth saying again. */
const kTold: [string, Set<string>][] = [["cluster", new Set(["cluster.name", "cluster.gpu", "cluster.gpus"])], ["model", new Set(["model.name"])], ["recipe", new Set(["recipe.name"])]];

function isDerived({ name }: Difference, all: Difference[]): boolean {
  if (kDerived.has(name)) return true;
  return kTold.some(([group, own]) => name.startsWith(`${group}.`) && !own.has(name) && all.some((one) => one.name === `${group}.name`));
}

/** What was chosen differently; what follows from that is folded. */
export function settingsView({ runs, differences = [] }: ReportDocument): HTMLElement | null {
  if (differences.length === 0) return null;
  const listed = (title: string, rows: Difference[]): HTMLElement => {
    const data: TableData = { columns: [{ title: "setting" }, ...runs.map((run) => ({ title: run.name }))], rows: rows.map((one): Cell[] => [one.name, ...one.values.map((value) => value || null)]) };
    return table(title, data, { rows: "settings", limit: 15, filter: rows.length > 12, text: readable });
  };
  const derived = differences.filter((one) => isDerived(one, differences));
  const chosen = differences.filter((one) => !derived.includes(one));
  return h("div", { class: "block" }, chosen.length > 0 ? listed("Settings that differ", chosen) : null,
    derived.length > 0 ? h("details", { class: "derived", open: chosen.length === 0 }, h("summary", {}, `${plural(derived.length, "value")} that follow${derived.length === 1 ? "s" : ""} from these`), listed("Values that follow", derived)) : null);
}
