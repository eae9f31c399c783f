import type { ComparisonDocument, ReportDocument, RunDocument } from "../document";
import { choice, h } from "../base/dom";
import { change, plural, quantity, signed, words } from "../base/format";
import { saveCsv } from "../base/save";
import { waterfall, type WaterfallStep } from "../charts/waterfall";
import { picture, redraw } from "../parts/picture";
import { table, type Cell, type TableData } from "../parts/table";
import { breakdownPicture } from "./breakdown";
import { memoryPicture, memoryRow } from "./memory";
import { jobLine, kMetrics, numberIn, partsOf, valueOf } from "./metrics";
import type { Section } from "./sections";

/** Which way a change is: better, worse, or too small to say. */
function verdict(better: string, from: number, to: number): string | undefined {
  if (better === "neither" || Math.abs(to - from) <= 0.005 * Math.abs(from)) return undefined;
  return (to < from) === (better === "lower") ? "good" : "bad";
}

/** Numbers of all jobs, those that differ most first; each change is held against the first job. */
function numbers(runs: RunDocument[]): HTMLElement {
  const rows = kMetrics.flatMap((metric) => {
    const values = runs.map((run) => valueOf(run.summary, metric));
    if (values.every((value) => value === undefined)) return [];
    const known = values.filter((value): value is number => value !== undefined);
    const size = Math.max(...known.map(Math.abs), 1e-30);
    return [{ metric, values, spread: (Math.max(...known) - Math.min(...known)) / size }];
  }).sort((a, b) => b.spread - a.spread);
  const save = (): void => saveCsv([["what", "unit", ...runs.map((run) => run.name)], ...rows.map(({ metric, values }): Cell[] => [metric.title, metric.unit === "1" ? "share" : metric.unit, ...values.map((value) => value ?? null)])], "Side by side");
  return h("div", { class: "block" }, h("div", { class: "table-tools" }, h("span", { class: "count" }, plural(rows.length, "number")), h("button", { type: "button", class: "quiet save-csv", click: save }, "CSV")),
    h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "Numbers side by side" }, h("table", { class: "side" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "what"), ...runs.map((run) => h("th", { scope: "col", class: "number" }, run.name)))),
    h("tbody", {}, ...rows.map(({ metric, values }) => h("tr", {}, h("th", { scope: "row" }, metric.title), ...values.map((value, i) => {
      const first = values[0];
      const differs = i > 0 && value !== undefined && first !== undefined;
      return h("td", { class: "number", "data-metric": metric.name, "data-value": value }, quantity(value, metric.unit),
        differs ? h("span", { class: `change ${verdict(metric.better, first, value) ?? ""}` }, change(first, value)) : null);
    })))))));
}

/** Numbers of the job whose name says their unit, as people read them. */
function readable(value: Cell, [name]: Cell[]): string | undefined {
  const unit = /_(bytes|bytes_per_s|hz)(_|$)/.exec(String(name))?.[1];
  return unit && value !== name && value !== null ? quantity(Number(value), { bytes: "bytes", bytes_per_s: "B/s", hz: "Hz" }[unit]) : undefined;
}

function settings({ runs, differences = [] }: ReportDocument): HTMLElement | null {
  if (differences.length === 0) return null;
  const data: TableData = { columns: [{ title: "setting" }, ...runs.map((run) => ({ title: run.name }))], rows: differences.map((one): Cell[] => [one.name, ...one.values.map((value) => value || null)]) };
  return h("div", { class: "block" }, table("Settings that differ", data, { rows: "settings", limit: 15, filter: data.rows.length > 12, text: readable }));
}

type Quantity = ComparisonDocument["quantities"][number];
const titleOf = (name: string): string => kMetrics.find((metric) => metric.name === name)?.title ?? words(name);

function stepsOf(comparison: ComparisonDocument, name: string): WaterfallStep[] {
  const steps = comparison.causes.map((cause): WaterfallStep => ({ title: cause.title, amount: cause.amount[name] ?? 0, detail: cause.detail,
    ...(name === "step_time_s" && cause.parts ? { parts: Object.entries(cause.parts).filter(([, value]) => value !== 0).map(([part, value]): [string, number] => [words(part), value]) } : {}) }));
  steps.sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount));
  const rest = comparison.residual[name] ?? 0;
  const size = Math.max(...steps.map((step) => Math.abs(step.amount)), 0);
  return Math.abs(rest) > 1e-6 * size ? [...steps, { title: "not explained", amount: rest }] : steps;
}

/** From the first job to the second by what makes the difference, largest first. */
export function causesView(comparison: ComparisonDocument, names: [string, string]): HTMLElement {
  let chosen: Quantity = comparison.quantities[0]!;
  let place: HTMLElement | undefined;
  const details = h("div");
  const showDetails = (): void => details.replaceChildren(table("Causes", {
    columns: [{ title: "cause" }, { title: "change", unit: chosen.unit }, { title: "of the difference", unit: "1" }, { title: "what differs", wide: true }],
    rows: comparison.causes.map((cause): Cell[] => [cause.title, cause.amount[chosen.name] ?? 0, chosen.b === chosen.a ? null : (cause.amount[chosen.name] ?? 0) / (chosen.b - chosen.a), cause.detail]) },
  { sorted: { column: 2, descending: true }, rows: "causes" }));
  const by = choice("Explain", comparison.quantities.map((one) => ({ value: one.name, title: titleOf(one.name) })), chosen.name, (name) => {
    chosen = comparison.quantities.find((one) => one.name === name)!;
    showDetails();
    if (place) redraw(place);
  });
  showDetails();
  const summary = comparison.quantities.map((one) => `${titleOf(one.name)} from ${quantity(one.a, one.unit)} to ${quantity(one.b, one.unit)}: ${stepsOf(comparison, one.name).map((step) => `${step.title} ${signed(step.amount, one.unit)}`).join(", ")}`).join(". ");
  const tableOf = (): TableData => ({ columns: [{ title: "cause" }, { title: titleOf(chosen.name), unit: chosen.unit }],
    rows: [[names[0], chosen.a], ...stepsOf(comparison, chosen.name).map((step): Cell[] => [step.title, step.amount]), [names[1], chosen.b]] });
  return h("div", {}, picture({
    title: "What makes the difference", note: `${comparison.method === "measured" ? "Parts of the step as they were measured, the one against the other." : "Each cause changed on its own, averaged over all orders of change."} The largest is what to look at first.`, summary,
    controls: comparison.quantities.length > 1 ? [by] : [], table: tableOf,
    draw: (host, width) => {
      place = host;
      host.replaceChildren(waterfall([names[0], chosen.a], [names[1], chosen.b], stepsOf(comparison, chosen.name), chosen.unit, width));
    },
  }), comparison.notes && comparison.notes.length > 0 ? h("ul", { class: "notes" }, ...comparison.notes.map((note) => h("li", {}, note))) : null, details);
}

/** Several jobs side by side, what differs first. */
export function compareSections(report: ReportDocument): Section[] {
  const { runs, comparison } = report;
  const names = runs.map((run) => run.name);
  const differ = settings(report);
  const steps = runs.map((run) => ({ label: run.name, parts: partsOf(run.summary.performance?.breakdown_s), href: `#run=${encodeURIComponent(run.name)}`, ...interval(run) })).filter((row) => row.parts.length > 0);
  const memory = runs.flatMap((run) => memoryRow(run.name, run.summary) ?? []);
  const overview = h("div", {}, h("ul", { class: "jobs" }, ...runs.map((run, i) => h("li", {}, comparison ? `${i === 0 ? "A" : "B"}: ` : null, h("a", { href: `#run=${encodeURIComponent(run.name)}` }, run.name), " ", jobLine(run.summary)))),
    comparison?.verdict ? h("p", { class: "verdict" }, comparison.verdict) : null);
  const sections: Section[] = [{ id: "jobs", title: "Jobs", heading: report.title, content: overview }];
  if (differ) sections.push({ id: "settings", title: "Settings", heading: "Settings that differ", content: differ });
  if (comparison && comparison.quantities.length > 0 && runs.length === 2) {
    sections.push({ id: "causes", title: "Causes", heading: "Why they differ", content: causesView(comparison, [names[0]!, names[1]!]) });
  }
  sections.push({ id: "numbers", title: "Side by side", heading: "Side by side", content: numbers(runs) });
  if (steps.length > 0) sections.push({ id: "step", title: "The step", heading: "The step", content: breakdownPicture("Where the steps go", "Names lead to the jobs.", steps) });
  if (memory.length > 0) sections.push({ id: "memory", title: "Memory", heading: "Memory", content: memoryPicture("Memory of the fullest GPU", memory) });
  return sections;
}

function interval(run: RunDocument): { low?: number; high?: number } {
  const [low, high] = [numberIn(run.summary, "performance", "step_time_s_low"), numberIn(run.summary, "performance", "step_time_s_high")];
  return low === undefined || high === undefined ? {} : { low, high };
}
