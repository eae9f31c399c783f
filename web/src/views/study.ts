import type { StudyDocument, StudyPoint } from "../document";
import { h } from "../base/dom";
import { plural } from "../base/format";
import { table, type Cell, type Column } from "../parts/table";
import { answerView } from "./answer";
import { figuresView, grouped } from "./figures";
import { frontierView } from "./frontier";
import { jobSections } from "./job";
import { kMetrics, valueOf } from "./metrics";
import type { Section } from "./sections";
import { studyFindings } from "./study_findings";
import { groupsOf } from "./study_groups";
import { axesOf, kStatus, pointHref, pointKey, pointName } from "./study_parts";

const kColumns = ["step_time_s", "tokens_per_s_per_gpu", "mfu", "peak_bytes", "mean_w_per_gpu", "energy_j_per_step", "tokens_per_j", "max_gpu_c", "throttled_time_fraction", "pipeline_bubble_fraction"];

function pointsTable(study: StudyDocument): HTMLElement {
  const metrics = kMetrics.filter((metric) => kColumns.includes(metric.name) && study.points.some((point) => valueOf(point.summary, metric) !== undefined));
  const families = new Set(study.points.map((point) => point.family ?? "")).size > 1;
  const noted = study.points.some((point) => point.reason || point.notes?.length);
  const axes = axesOf(study);
  // Of what is no single job's the settings are all that is known.
  const facts = study.points.some((point) => point.summary) ? [] : [...new Set(study.points.flatMap((point) => Object.keys(point.settings)))];
  const columns: Column[] = [{ title: "point" }, ...(families ? [{ title: "family", facet: true }] : []), ...axes.map((axis) => ({ title: axis.name, facet: axis.values.length <= 24 })),
    ...facts.map((title) => ({ title })), { title: "status", facet: true }, ...metrics.map((metric) => ({ title: metric.title, unit: metric.unit })), ...(noted ? [{ title: "notes", wide: true }] : [])];
  const index = new Map<Cell[], number>();
  const rows = study.points.map((point, i): Cell[] => {
    const row: Cell[] = [point.id, ...(families ? [point.family ?? ""] : []), ...axes.map((axis) => axis.of(point)), ...facts.map((name) => point.settings[name] ?? ""), kStatus[point.status],
      ...metrics.map((metric) => (point.status === "ok" ? (valueOf(point.summary, metric) ?? null) : null)), ...(noted ? [[point.reason ?? "", ...(point.notes ?? [])].filter(Boolean).join("; ")] : [])];
    index.set(row, i);
    return row;
  });
  return h("div", { class: "block" }, table("Points", { columns, rows }, { filter: true, rows: "points", limit: 60, href: (row) => pointHref(study, index.get(row) ?? -1),
    mark: (value) => (value === kStatus.refused || value === kStatus["does-not-fit"] ? "bad" : undefined) }));
}

export function studySections(study: StudyDocument): Section[] {
  const figures = grouped(study.figures);
  const groups = groupsOf(study);
  const answer = answerView(study, groups);
  const counted = (status: StudyPoint["status"]): number => study.points.filter((point) => point.status === status).length;
  const frontier = frontierView(study, groups);
  const ends: [StudyPoint["status"], string][] = [["ok", "ran"], ["does-not-fit", "do not fit in memory"], ["refused", "cannot run"]];
  const ended = ends.filter(([status]) => status === "ok" || counted(status) > 0).map(([status, words]) => `${counted(status)} ${words}`).join(", ");
  const overview = h("div", {}, h("p", { class: "question" }, study.question), answer,
    h("p", { class: "note" }, `${plural(study.points.length, "point")}: ${ended}. Axes: ${axesOf(study).map((axis) => `${axis.name} (${axis.values.length})`).join(", ")}. Every mark, bar and row leads to its job.`));
  return [
    { id: "overview", title: answer ? "The answer" : "Overview", heading: study.title, content: overview },
    ...(study.findings.length > 0 ? [{ id: "findings", title: "Findings", heading: "What others saw, what we predict", content: studyFindings(study) }] : []),
    ...(figures.length > 0 ? [{ id: "figures", title: "Figures", heading: "Figures", content: figuresView(study),
      inner: figures.map((panels) => ({ id: `figure-${panels[0]!.id}`, title: panels[0]!.label || panels[0]!.title })) }] : []),
    ...(frontier ? [{ id: "frontier", title: "Frontier", heading: "Frontier", content: frontier }] : []),
    { id: "points", title: "Points", heading: "All points", content: pointsTable(study) },
  ];
}

/** The job behind a point, as far as its summary tells; a row that could not run says why. */
export function pointSections(study: StudyDocument, key: string): Section[] | undefined {
  const at = study.points.findIndex((point) => pointKey(point) === key);
  const point = study.points[at];
  if (!point) return undefined;
  const step = (by: number, title: string): HTMLElement | null => {
    const href = pointHref(study, at + by);
    return href ? h("a", { href, class: "quiet" }, title) : null;
  };
  const bar = h("p", { class: "way" }, h("a", { href: "#study&at=points" }, `‹ ${study.title}`), " ", step(-1, "previous point"), " ", step(1, "next point"));
  const lines = [point.reason, ...(point.notes ?? [])].filter((line): line is string => Boolean(line));
  const told = h("div", {}, bar, point.status === "ok" ? null : h("p", { class: "verdict bad" }, h("b", {}, `${kStatus[point.status]}: `), point.reason ?? ""),
    lines.length > 0 && point.status === "ok" ? h("ul", { class: "notes" }, ...lines.map((line) => h("li", {}, line))) : null);
  const name = pointName(study, point);
  const heading = name.includes(point.id) ? name : point.id.includes(name) ? point.id : `${name} (${point.id})`;
  const settings = Object.entries(point.settings).map(([setting, value]) => ({ group: "study", name: setting, value, source: study.name }));
  if (!point.summary) {
    const rows = settings.map((one): Cell[] => [one.name, one.value]);
    const what = point.status === "ok" ? "number" : "setting";
    return [{ id: "overview", title: "Overview", heading, content: h("div", {}, told, table(what, { columns: [{ title: what }, { title: "value" }], rows }, { rows: `${what}s` })) }];
  }
  const sections = jobSections({ name: heading, summary: point.summary, findings: [], assumptions: settings });
  sections[0]!.content.prepend(told);
  return sections;
}
