import type { StudyDocument, StudyFinding } from "../document";
import { h } from "../base/dom";
import { table, type Cell } from "../parts/table";
import { pointHref, pointName } from "./study_parts";

type Verdict = StudyFinding["agrees"] | "open";
const kVerdicts: Record<Verdict, [string, string]> = { yes: ["agrees", "good"], "in part": ["in part", "fair"], no: ["disagrees", "bad"], open: ["open question", "plain"] };
const verdictOf = (finding: StudyFinding): Verdict => (finding.id.startsWith("open.") ? "open" : finding.agrees);
const kMostPoints = 8;

/** The jobs that a finding rests on. */
function evidence(study: StudyDocument, finding: StudyFinding): HTMLElement | null {
  const shown = (finding.points ?? []).slice(0, kMostPoints).flatMap((index) => {
    const point = study.points[index];
    return point ? [{ index, name: pointName(study, point), family: point.family ?? "" }] : [];
  });
  if (shown.length === 0) return null;
  const twice = (name: string): boolean => shown.filter((one) => one.name === name).length > 1;
  const links = shown.map(({ index, name, family }) => h("a", { href: pointHref(study, index) }, twice(name) ? `${name} (${family})` : name));
  const more = finding.points!.length - kMostPoints;
  return h("p", { class: "points" }, "Rests on ", ...links.flatMap((link, i) => (i > 0 ? ["; ", link] : [link])), more > 0 ? ` and ${more} more` : "");
}

/** One line; unfolded, what was reported, what is predicted, and why. */
function line(study: StudyDocument, finding: StudyFinding): HTMLElement {
  const verdict = verdictOf(finding);
  const [title, mark] = kVerdicts[verdict];
  const said = (name: string, ...text: (string | HTMLElement)[]): HTMLElement => h("div", {}, h("dt", {}, name), h("dd", {}, ...text));
  return h("details", { class: "verdict-line", "data-agrees": verdict, "data-paper": true }, h("summary", {}, h("span", { class: `badge ${mark}` }, title), h("b", {}, finding.title), h("span", { class: "predicted" }, finding.predicted)),
    h("dl", {}, said(verdict === "open" ? "asked" : "reported", finding.reported, " ", h("span", { class: "muted" }, `(${finding.source})`)), said("predicted", finding.predicted), said("why", finding.why)),
    evidence(study, finding));
}

/** What others saw beside what we predict, a line each; filtered by whether the two agree. */
export function studyFindings(study: StudyDocument): HTMLElement {
  const list = h("div", { class: "verdicts" });
  const lines = study.findings.map((finding) => line(study, finding));
  const show = (wanted: string): void => list.replaceChildren(...lines.filter((one) => wanted === "" || one.dataset.agrees === wanted));
  const counts = (Object.keys(kVerdicts) as Verdict[]).map((key) => ({ key: key as string, title: kVerdicts[key][0], count: lines.filter((one) => one.dataset.agrees === key).length })).filter(({ count }) => count > 0);
  const buttons = [{ key: "", title: "all", count: lines.length }, ...counts].map(({ key, title, count }) => {
    const button: HTMLButtonElement = h("button", { type: "button", class: "filter", "aria-pressed": String(key === ""), click: () => {
      for (const one of buttons) one.setAttribute("aria-pressed", String(one === button));
      show(key);
    } }, `${title} ${count}`);
    return button;
  });
  const unfold: HTMLButtonElement = h("button", { type: "button", class: "quiet", click: () => {
    const open = lines.some((one) => !(one as HTMLDetailsElement).open);
    for (const one of lines) (one as HTMLDetailsElement).open = open;
    unfold.textContent = open ? "Fold all" : "Unfold all";
  } }, "Unfold all");
  show("");
  const rows = study.findings.map((finding): Cell[] => [finding.title, kVerdicts[verdictOf(finding)][0], finding.reported, finding.predicted, finding.why, finding.source]);
  const as_table = h("details", {}, h("summary", {}, "As a table"));
  as_table.addEventListener("toggle", () => as_table.append(table("Findings", { columns: [{ title: "finding", wide: true }, { title: "agrees", facet: true }, { title: "reported", wide: true }, { title: "predicted", wide: true }, { title: "why", wide: true }, { title: "source" }], rows }, { rows: "findings", filter: true })), { once: true });
  return h("div", { class: "block" }, h("div", { class: "filters", role: "group", "aria-label": "Findings by agreement" }, ...buttons, unfold), list, as_table);
}
