import type { StudyDocument } from "../document";
import { h } from "../base/dom";
import { change, plural, quantity, signed } from "../base/format";
import { metricOf, valueOf, type Metric } from "./metrics";
import { choiceNames, type Group } from "./study_groups";
import { pointHref } from "./study_parts";

/** What a job may be chosen for, by the number that says how well it does. */
interface Aim {
  title: string;
  metric: Metric;
  /** Of the column, with its unit. */
  heading: string;
}
const kSpeed: Aim = { title: "fastest", metric: metricOf("tokens_per_s_per_gpu")!, heading: "tokens/s per GPU" };
const kEnergy: Aim = { title: "least energy", metric: metricOf("tokens_per_j")!, heading: "tokens/J" };
const kHeat: Aim = { title: "coolest", metric: metricOf("max_gpu_c")!, heading: "hottest GPU" };
const kAims = [kSpeed, kEnergy, kHeat];
/** A job that waits for most of its step is cool: of those that lose no more speed than this, the coolest is told besides. */
const kNear = 0.1;
/** So many groups are seen at once; those of a study that repeats its jobs under many conditions fill pages. */
const kUnfolded = 16;

interface Best {
  title: string;
  aim: Aim;
  point: number;
  value: number;
}
interface Answer {
  group: Group;
  /** The best at every aim that is known of the group, in their order. */
  best: Best[];
  /** The coolest of those that are about as fast as the fastest, where that is neither of the two. */
  near?: Best;
}

function bestOf(study: StudyDocument, points: number[], aim: Aim, title = aim.title): Best | undefined {
  const sign = aim.metric.better === "higher" ? -1 : 1;
  const known = points.flatMap((point) => {
    const value = valueOf(study.points[point]!.summary, aim.metric);
    return value === undefined ? [] : [{ title, aim, point, value }];
  });
  return known.length > 0 ? known.reduce((a, b) => (sign * b.value < sign * a.value ? b : a)) : undefined;
}

export function answerOf(study: StudyDocument, group: Group): Answer {
  const best = kAims.flatMap((aim) => bestOf(study, group.points, aim) ?? []);
  const fastest = best.find((one) => one.aim === kSpeed);
  const about = group.points.filter((point) => fastest && (valueOf(study.points[point]!.summary, kSpeed.metric) ?? 0) >= (1 - kNear) * fastest.value);
  const near = bestOf(study, about, kHeat, `coolest within ${100 * kNear} %`);
  return near && near.point !== fastest!.point && best.every((one) => one.aim !== kHeat || one.point !== near.point) ? { group, best, near } : { group, best };
}

/** How far a value is from the best: shares of rates, kelvins of temperatures. */
const loss = (metric: Metric, value: number, best: number): string =>
  (metric.unit === "°C" ? signed(value - best, "K") : change(best, value));

/** A job that is best at something, and what it gives up at the rest. */
function rowOf(study: StudyDocument, answer: Answer, names: Map<number, string>, point: number, titles: string[]): HTMLElement {
  return h("tr", {}, h("th", { scope: "row" }, titles.join(", ")), h("td", { class: "choice-name" }, h("a", { href: pointHref(study, point) }, names.get(point)!)),
    ...answer.best.map(({ aim, value: best, point: winner }) => {
      const value = valueOf(study.points[point]!.summary, aim.metric);
      const lost = value === undefined || winner === point ? "" : loss(aim.metric, value, best);
      return h("td", { class: "number", "data-metric": aim.metric.name, "data-value": value }, h("span", { class: winner === point ? "best" : undefined }, quantity(value, aim === kHeat ? "°C" : "")),
        lost ? h("small", {}, ` ${lost}`) : null);
    }));
}

/** What any other job of the group would cost in speed. */
function othersOf(study: StudyDocument, answer: Answer): string {
  const first = answer.best[0]!;
  const others = answer.group.points.filter((point) => point !== first.point).flatMap((point) => valueOf(study.points[point]!.summary, first.aim.metric) ?? [])
    .map((value) => Math.abs(value - first.value) / first.value).sort((a, b) => a - b);
  if (first.aim !== kSpeed || others.length === 0) return "";
  const [least, most] = [quantity(others[0], "1"), quantity(others[others.length - 1], "1")];
  if (others.length === 1) return `The other is ${least} slower.`;
  const range = `The ${others.length} others are ${least} to ${most} slower`;
  return others.length < 4 ? `${range}.` : `${range}, half of them by ${quantity(others[Math.floor(others.length / 2)], "1")} or more.`;
}

function card(study: StudyDocument, answer: Answer): HTMLElement {
  const { group, best, near } = answer;
  const names = choiceNames(study, group);
  const titles = new Map<number, string[]>();
  const [fastest, ...others] = best;
  for (const one of [fastest!, ...(near ? [near] : []), ...others]) titles.set(one.point, [...(titles.get(one.point) ?? []), one.title]);
  return h("article", { class: "answer" }, h("h2", {}, group.title, " ", h("span", { class: "muted" }, plural(group.points.length, "job"))),
    h("table", {}, h("caption", { class: "unseen" }, `Best jobs: ${group.title}`),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "best"), h("th", { scope: "col" }, "layout"), ...best.map(({ aim }) => h("th", { scope: "col", class: "number" }, aim.heading)))),
      h("tbody", {}, ...[...titles].map(([point, own]) => rowOf(study, answer, names, point, own)))),
    h("p", { class: "note" }, othersOf(study, answer)));
}

/** What it comes to over all groups. */
function verdictOf(study: StudyDocument, answers: Answer[]): string {
  const both = answers.filter(({ best }) => best.length === kAims.length);
  if (both.length === 0) return "";
  const frugal = both.filter(({ best }) => best[0]!.point === best[1]!.point).length;
  // What is cooler without losing more than a little speed.
  const cooler = both.map(({ best, near }) => {
    const of = (point: number): number => valueOf(study.points[point]!.summary, kHeat.metric) ?? 0;
    return of(best[0]!.point) - (near ?? best.find((one) => one.aim === kHeat && (valueOf(study.points[one.point]!.summary, kSpeed.metric) ?? 0) >= (1 - kNear) * best[0]!.value) ?? { value: of(best[0]!.point) }).value;
  });
  const most = Math.max(...cooler);
  const heat = most < 0.05 ? `Nothing within ${100 * kNear} % of the fastest is cooler.`
    : both.length === 1 ? `For at most ${100 * kNear} % of speed the hottest GPU can be ${quantity(most, "K")} cooler.`
      : `For at most ${100 * kNear} % of speed the hottest GPU can be cooler in ${cooler.filter((one) => one >= 0.05).length}, by up to ${quantity(most, "K")}.`;
  if (both.length === 1) return `${frugal === 1 ? "The fastest also needs the least energy." : "The fastest is not the one that needs the least energy."} ${heat}`;
  return `In ${frugal} of ${both.length} cases the fastest also needs the least energy. ${heat}`;
}

/** Of every model and machine the best job for speed, for energy and for heat, and what it costs to choose another. */
export function answerView(study: StudyDocument, groups: Group[]): HTMLElement | null {
  const answers = groups.map((group) => answerOf(study, group)).filter(({ best }) => best.length > 0);
  if (answers.length === 0) return null;
  const verdict = verdictOf(study, answers);
  const cards = answers.map((answer) => card(study, answer));
  const folded = cards.slice(kUnfolded);
  return h("div", {}, verdict ? h("p", { class: "verdict" }, verdict) : null,
    h("p", { class: "note" }, "Beside a number stands how far it is from the best of its column: what it costs to choose this one."),
    h("div", { class: "answers" }, ...cards.slice(0, kUnfolded)),
    folded.length > 0 ? h("details", {}, h("summary", {}, `${plural(folded.length, "group")} more`), h("div", { class: "answers" }, ...folded)) : null);
}
