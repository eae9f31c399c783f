import type { Summary, WhatIfDocument } from "../document";
import { h, newId } from "../base/dom";
import { change, quantity, range } from "../base/format";
import type { Moment } from "../parts/moment";
import { table, type Cell } from "../parts/table";
import { causesView } from "./compare";
import { changeOf, direction } from "./compare_much";
import { kHeadline, kHeadlineTitles, tileValue } from "./headline";
import { intervalOf, metricOf, numberIn, valueOf } from "./metrics";
import { freeBytes, isNumeric, ladderTitle, least, nearest, summaryOf, valueWords } from "./what_if_jobs";

/** What one may go to at once; where it is the least of a number. */
const kGoals: [string, string][] = [["Fastest", "performance.step_time_s"], ["Least energy", "power.energy_j_per_step"], ["Coolest", "thermal.max_gpu_c"]];

/** A ladder as a slider that snaps to its values. */
class Slider {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly value = h("output", { class: "value" });
  private readonly marks: HTMLElement[];

  constructor(private readonly ladder: WhatIfDocument["ladders"][number], moved: (position: number) => void) {
    const id = newId("what-if");
    this.input = h("input", { id, type: "range", min: 0, max: ladder.values.length - 1, step: 1, input: () => moved(Number(this.input.value)) });
    this.marks = ladder.values.map((_, i) => h("span", { class: i === ladder.own ? "own" : undefined }, valueWords(ladder, i)));
    this.value.setAttribute("for", id);
    this.element = h("div", { class: "slider" }, h("label", { for: id, title: ladder.help }, ladderTitle(ladder)), this.value, this.input,
      h("div", { class: "marks", "aria-hidden": "true" }, ...this.marks));
  }
  show(position: number): void {
    const text = valueWords(this.ladder, position);
    this.input.value = String(position);
    this.input.setAttribute("aria-valuetext", position === this.ladder.own ? `${text}, as the job has it` : text);
    this.value.textContent = text;
    this.marks.forEach((mark, i) => mark.classList.toggle("chosen", i === position));
  }
}

/** "tensor parallel 8, power cap 600 W"; of the job itself nothing. */
function changesOf({ ladders, at }: WhatIfDocument, job: number): string {
  return ladders.flatMap((ladder, i) => (at[job]![i] === ladder.own ? [] : [`${ladderTitle(ladder)} ${valueWords(ladder, at[job]![i]!)}`])).join(", ");
}

function tile(name: string, own: Summary, summary: Summary): HTMLElement | null {
  const metric = metricOf(name)!;
  const [from, value] = [valueOf(own, metric), valueOf(summary, metric)];
  if (value === undefined || from === undefined) return null;
  const interval = intervalOf(summary, metric);
  const differs = own !== summary;
  return h("div", { class: "tile", "data-metric": name, "data-value": value }, h("dt", {}, kHeadlineTitles[name] ?? metric.title), tileValue(value, metric.unit),
    h("dd", { class: "aside" }, differs ? h("b", { class: direction(metric.better, from, value) }, changeOf(metric, from, value)) : "the job", differs ? ` from ${quantity(from, metric.unit)}` : null),
    interval ? h("dd", { class: "aside", title: "90 % interval" }, `90 %: ${range(interval, metric.unit)}`) : null);
}

/** What is said of a job in a line. */
function told(whatIf: WhatIfDocument, job: number, own: Summary, summary: Summary): string {
  const changes = changesOf(whatIf, job);
  const [from, step] = [numberIn(own, "performance", "step_time_s"), numberIn(summary, "performance", "step_time_s")];
  const replicas = `${whatIf.replicas[job]} ${whatIf.replicas[job] === 1 ? "replica" : "replicas"}`;
  return changes === "" ? `The job as it is, ${replicas}: ${quantity(step, "s")} a step.`
    : `With ${changes}, ${replicas}: ${quantity(step, "s")} a step, ${change(from ?? 0, step ?? 0)}.`;
}

function memoryLine(whatIf: WhatIfDocument, job: number, summary: Summary): HTMLElement | null {
  const fit = whatIf.fit[job]!;
  if (fit === "fits") return null;
  const free = freeBytes(summary) ?? 0;
  const odds = quantity(numberIn(summary, "memory", "fit_probability"), "1");
  const what = free < 0 ? `${quantity(-free, "bytes")} short` : `${quantity(free, "bytes")} to spare`;
  const advice = (whatIf.advice[job] ?? "").replace(/^does not fit: /, "It ");
  return h("p", { class: `verdict ${fit === "at risk" ? "fair" : "bad"}` }, h("b", {}, `Memory: ${fit}`), ` (it fits with ${odds} probability): ${what}, holes between tensors included.${free < 0 ? " Times are those of a GPU that had enough." : ""} ${advice}`.trimEnd());
}

/** Every job that was played, for who reads rather than moves, and for paper. */
function tableOf(whatIf: WhatIfDocument, base: string): HTMLElement {
  const { ladders, at } = whatIf;
  const columns = [...ladders.map((ladder) => (isNumeric(ladder) ? { title: ladderTitle(ladder), unit: ladder.unit ?? "" } : { title: ladderTitle(ladder), facet: true })),
    { title: "replicas", unit: "" }, { title: "step time", unit: "s" }, { title: "energy per step", unit: "J" }, { title: "hottest GPU", unit: "°C" }, { title: "free memory", unit: "bytes" }, { title: "memory", facet: true }];
  const rows = at.map((positions, job): Cell[] => {
    const summary = summaryOf(whatIf, job);
    return [...ladders.map((ladder, i): Cell => (isNumeric(ladder) ? Number(ladder.values[positions[i]!]) : ladder.values[positions[i]!]!)), whatIf.replicas[job]!,
      ...(["performance.step_time_s", "power.energy_j_per_step", "thermal.max_gpu_c"].map((path): Cell => whatIf.numbers[path]?.[job] ?? null)),
      freeBytes(summary) ?? null, whatIf.fit[job]!];
  });
  const href = (row: Cell[]): string => `#${base}&at=what-if&${ladders.map((ladder, i) => `${ladder.word}=${encodeURIComponent(String(row[i]))}`).join("&")}`;
  return h("div", { class: "neighbours" }, h("h3", {}, "All of them"), table("Jobs around this one", { columns, rows },
    { rows: "jobs", href, limit: 100, sorted: { column: ladders.length + 1, descending: false }, mark: (value) => (value === "does not fit" ? "bad" : value === "at risk" ? "fair" : undefined) }));
}

/** Sliders over the played neighbours of a job, what becomes of it there, and why. */
export function whatIfView(whatIf: WhatIfDocument, name: string, moment: Moment): HTMLElement {
  const { ladders, at } = whatIf;
  const own = summaryOf(whatIf, whatIf.job);
  let job = whatIf.job;
  let explained: string | undefined;
  const line = h("p", { class: "told", role: "status" });
  const outcome = h("div");
  const sliders = ladders.map((ladder, i) => new Slider(ladder, (position) => {
    const wanted = at[job]!.map((old, k) => (k === i ? position : old));
    go(nearest(whatIf, wanted, i), wanted);
  }));
  const show = (wanted?: number[]): void => {
    const summary = job === whatIf.job ? own : summaryOf(whatIf, job);
    const comparison = whatIf.comparisons[job];
    sliders.forEach((slider, i) => slider.show(at[job]![i]!));
    const snapped = ladders.filter((_, i) => wanted && wanted[i] !== at[job]![i]).map((ladder) => ladderTitle(ladder));
    line.textContent = told(whatIf, job, own, summary) + (snapped.length > 0 ? ` There is no such job; the nearest has another ${snapped.join(" and ")}.` : "");
    outcome.replaceChildren(...[memoryLine(whatIf, job, summary), h("dl", { class: "tiles" }, ...kHeadline.map((one) => tile(one, own, summary))),
      comparison?.verdict ? h("p", { class: "verdict" }, comparison.verdict, h("br"), h("small", { class: "muted" }, `A is the job, B the one with ${changesOf(whatIf, job)}.`)) : null,
      comparison ? causesView(comparison, [name, "as set here"], explained, (chosen) => { explained = chosen; }) : null].filter((one) => one !== null));
  };
  const go = (next: number, wanted?: number[]): void => {
    job = next;
    ladders.forEach((ladder, i) => moment.keep(ladder.word, at[job]![i] === ladder.own ? undefined : ladder.values[at[job]![i]!]));
    show(wanted);
  };
  const restore = (): void => {
    job = nearest(whatIf, ladders.map((ladder) => { const position = ladder.values.indexOf(moment.value(ladder.word) ?? ""); return position < 0 ? ladder.own : position; }));
    show();
  };
  moment.onRestore(restore);
  restore();
  const goals = kGoals.flatMap(([title, path]) => { const best = least(whatIf, path); return best === undefined ? [] : [h("button", { type: "button", class: "quiet", click: () => go(best) }, title)]; });
  return h("div", { class: "what-if" }, h("p", { class: "note" }, `Each position is a job that was simulated, ${at.length} in all; it is explained as compare explains two jobs. What is set in bold is the job's own.`),
    h("div", { class: "block controls" }, h("div", { class: "sliders", role: "group", "aria-label": "Settings to vary" }, ...sliders.map((slider) => slider.element)),
      h("div", { class: "filters", role: "group", "aria-label": "Go to" }, h("button", { type: "button", class: "quiet", click: () => go(whatIf.job) }, "The job"), ...goals)),
    line, outcome, tableOf(whatIf, moment.base));
}
