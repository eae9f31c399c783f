import type { ComparisonDocument, ReportDocument, RunDocument } from "../document";
import { choice, h } from "../base/dom";
import { plural, quantity, signed, words } from "../base/format";
import { saveCsv } from "../base/save";
import { waterfall, type WaterfallStep } from "../charts/waterfall";
import { picture, redraw } from "../parts/picture";
import { table, type Cell, type TableData } from "../parts/table";
import { breakdownPicture } from "./breakdown";
import { heatView } from "./compare_heat";
import { changeOf, direction, howMuch } from "./compare_much";
import { settingsView } from "./compare_settings";
import { timelinesView } from "./compare_time";
import { energyStacksView } from "./energy_stacks";
import { memoryPicture, memoryRow } from "./memory";
import { jobLine, kMetrics, numberIn, partsOf, valueOf, type Metric } from "./metrics";
import type { Section } from "./sections";

/** Numbers of all jobs, always in the same order; each change is held against the first job. */
function numbers(runs: RunDocument[]): HTMLElement {
  const rows = kMetrics.flatMap((metric) => {
    const values = runs.map((run) => valueOf(run.summary, metric));
    if (values.every((value) => value === undefined)) return [];
    return [{ metric, values }];
  });
  const save = (): void => saveCsv([["what", "unit", ...runs.map((run) => run.name)], ...rows.map(({ metric, values }): Cell[] => [metric.title, metric.unit === "1" ? "share" : metric.unit, ...values.map((value) => value ?? null)])], "Side by side");
  return h("div", { class: "block" }, h("div", { class: "table-tools" }, h("span", { class: "count" }, plural(rows.length, "number")), h("button", { type: "button", class: "quiet save-csv", click: save }, "CSV")),
    h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": "Numbers side by side" }, h("table", { class: "side" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "what"), ...runs.map((run) => h("th", { scope: "col", class: "number" }, run.name)))),
    h("tbody", {}, ...rows.map(({ metric, values }) => h("tr", {}, h("th", { scope: "row" }, metric.title), ...values.map((value, i) => {
      const first = values[0];
      const differs = i > 0 && value !== undefined && first !== undefined;
      return h("td", { class: "number", "data-metric": metric.name, "data-value": value }, quantity(value, metric.unit),
        differs ? h("span", { class: `change ${direction(metric.better, first, value) ?? ""}` }, changeOf(metric, first, value)) : null);
    })))))));
}

type Quantity = ComparisonDocument["quantities"][number];
/** Of what the program compares under another name than the summary has. */
const kMetricOf: Record<string, string> = { peak_memory_bytes: "peak_bytes" };
const metricOfQuantity = (name: string): Metric | undefined => kMetrics.find((metric) => metric.name === (kMetricOf[name] ?? name));
/** Memory is counted in binary units everywhere, what crosses links in decimal ones, as their rates are. */
const unitOf = (one: Quantity): string => metricOfQuantity(one.name)?.unit ?? one.unit;
const betterOf = (name: string): Metric["better"] => metricOfQuantity(name)?.better ?? (/_(s|j|bytes)_?|bytes/.test(name) ? "lower" : "neither");
const titleOf = (name: string): string => metricOfQuantity(name)?.title ?? words(name.replace(/_(j|s|bytes)(?=_per|$)/, ""));

const kSmall = 0.002;

function stepsOf(comparison: ComparisonDocument, name: string): WaterfallStep[] {
  const steps = comparison.causes.map((cause): WaterfallStep => ({ title: cause.title, amount: cause.amount[name] ?? 0, detail: cause.detail,
    ...(name === "step_time_s" && cause.parts ? { parts: Object.entries(cause.parts).filter(([, value]) => value !== 0).map(([part, value]): [string, number] => [words(part), value]) } : {}) }));
  steps.sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount));
  const rest = comparison.residual[name] ?? 0;
  const size = Math.max(...steps.map((step) => Math.abs(step.amount)), 0);
  // What no one can see is not drawn, but counted.
  const small = steps.filter((step) => Math.abs(step.amount) < kSmall * size);
  const shown = steps.filter((step) => Math.abs(step.amount) >= kSmall * size);
  const others = small.reduce((sum, step) => sum + step.amount, 0);
  return [...shown, ...(others !== 0 ? [{ title: plural(small.length, "smaller cause"), amount: others }] : []), ...(Math.abs(rest) > 1e-6 * size ? [{ title: "not explained", amount: rest }] : [])];
}

/** From the first job to the second by what makes the difference, largest first. `first`: the quantity to begin with, of which `told` learns another. */
export function causesView(comparison: ComparisonDocument, names: [string, string], first?: string, told?: (name: string) => void): HTMLElement {
  let chosen: Quantity = comparison.quantities.find((one) => one.name === first) ?? comparison.quantities[0]!;
  let place: HTMLElement | undefined;
  const details = h("div");
  const showDetails = (): void => details.replaceChildren(table("Causes", {
    columns: [{ title: "cause" }, { title: "change", unit: unitOf(chosen) }, { title: "of the difference", unit: "1" }, { title: "what differs", wide: true }],
    rows: comparison.causes.map((cause): Cell[] => [cause.title, cause.amount[chosen.name] ?? 0, chosen.b === chosen.a ? null : (cause.amount[chosen.name] ?? 0) / (chosen.b - chosen.a), cause.detail]) },
  { sorted: { column: 2, descending: true }, rows: "causes" }));
  const by = choice("Explain", comparison.quantities.map((one) => ({ value: one.name, title: titleOf(one.name) })), chosen.name, (name) => {
    chosen = comparison.quantities.find((one) => one.name === name)!;
    told?.(name);
    showDetails();
    if (place) redraw(place);
  });
  showDetails();
  const summary = comparison.quantities.map((one) => `${titleOf(one.name)} from ${quantity(one.a, unitOf(one))} to ${quantity(one.b, unitOf(one))}: ${stepsOf(comparison, one.name).map((step) => `${step.title} ${signed(step.amount, unitOf(one))}`).join(", ")}`).join(". ");
  const tableOf = (): TableData => ({ columns: [{ title: "cause" }, { title: titleOf(chosen.name), unit: unitOf(chosen) }],
    rows: [[names[0], chosen.a], ...stepsOf(comparison, chosen.name).map((step): Cell[] => [step.title, step.amount]), [names[1], chosen.b]] });
  return h("div", {}, picture({
    title: "What makes the difference", note: `${comparison.method === "measured" ? "Parts of the step as they were measured, the one against the other." : "Each cause changed on its own, averaged over all orders of change."} The largest is what to look at first.`, summary,
    controls: comparison.quantities.length > 1 ? [by] : [], table: tableOf,
    draw: (host, width) => {
      place = host;
      host.replaceChildren(waterfall([names[0], chosen.a], [names[1], chosen.b], stepsOf(comparison, chosen.name), unitOf(chosen), width, betterOf(chosen.name)));
    },
  }), comparison.notes && comparison.notes.length > 0 ? h("ul", { class: "notes" }, ...comparison.notes.map((note) => h("li", {}, note))) : null, details);
}

/** Several jobs side by side: how much, then why. */
export function compareSections(report: ReportDocument): Section[] {
  const { runs, comparison } = report;
  const names = runs.map((run) => run.name);
  const differ = settingsView(report);
  const [over, heat] = [timelinesView(runs), heatView(runs)];
  const steps = runs.map((run) => ({ label: run.name, parts: partsOf(run.summary.performance?.breakdown_s), href: `#run=${encodeURIComponent(run.name)}`, ...interval(run) })).filter((row) => row.parts.length > 0);
  const memory = runs.flatMap((run) => memoryRow(run.name, run.summary) ?? []);
  const overview = h("div", {}, h("ul", { class: "jobs" }, ...runs.map((run, i) => h("li", {}, comparison ? `${i === 0 ? "A" : "B"}: ` : null, h("a", { href: `#run=${encodeURIComponent(run.name)}` }, run.name), " ", jobLine(run.summary)))),
    howMuch(report));
  const sections: Section[] = [{ id: "jobs", title: "Jobs", heading: report.title, content: overview }];
  if (differ) sections.push({ id: "settings", title: "Settings", heading: "Settings that differ", content: differ });
  if (comparison && comparison.quantities.length > 0 && runs.length === 2) {
    sections.push({ id: "causes", title: "Causes", heading: "Why they differ", content: causesView(comparison, [names[0]!, names[1]!]) });
  }
  sections.push({ id: "numbers", title: "Side by side", heading: "Side by side", content: numbers(runs) });
  if (steps.length > 0) sections.push({ id: "step", title: "The step", heading: "The step", content: breakdownPicture("Where the steps go", "Names lead to the jobs.", steps) });
  if (over) sections.push({ id: "timelines", title: "Timelines", heading: "Timelines", content: over });
  if (heat) sections.push({ id: "heat", title: "Power and heat", heading: "Power and heat", content: heat });
  const [a, b] = runs;
  if (runs.length === 2 && a!.energy_stacks && b!.energy_stacks) {
    const content = energyStacksView(b!.energy_stacks, { name: a!.name, stacks: a!.energy_stacks });
    sections.push({ id: "energy", title: "Energy", heading: `Energy of ${b!.name}`, content });
  }
  if (memory.length > 0) sections.push({ id: "memory", title: "Memory", heading: "Memory", content: memoryPicture("Memory of the fullest GPU", memory) });
  return sections;
}

function interval(run: RunDocument): { low?: number; high?: number } {
  const [low, high] = [numberIn(run.summary, "performance", "step_time_s_low"), numberIn(run.summary, "performance", "step_time_s_high")];
  return low === undefined || high === undefined ? {} : { low, high };
}
