import type { Figure, StudyDocument } from "../document";
import { h } from "../base/dom";
import { quantity, words } from "../base/format";
import { bars } from "../charts/bars";
import { heatmap } from "../charts/heatmap";
import { sharedBy } from "../charts/panels";
import { plot, type PointLinks } from "../charts/plot";
import { legendOf } from "../charts/style";
import { legend } from "../parts/legend";
import { picture } from "../parts/picture";
import type { Cell, TableData } from "../parts/table";
import { pointHref, pointTitle } from "./study_parts";

const labelOf = (text: string): string => words(text);

function tableOf(figure: Figure, study: StudyDocument): TableData {
  const place = (x: number): Cell => figure.x.categories?.[x] ?? x;
  const numeric = !figure.x.categories;
  const heat = figure.kind === "heat-map";
  const intervals = figure.series.some((series) => series.low && series.high);
  return {
    columns: [{ title: "series" }, numeric ? { title: figure.x.title, unit: figure.x.unit ?? "" } : { title: figure.x.title }, ...(heat ? [{ title: figure.y.title }] : []),
      { title: heat ? "value" : figure.y.title, unit: figure.y.unit ?? "" }, ...(intervals ? [{ title: "low", unit: figure.y.unit ?? "" }, { title: "high", unit: figure.y.unit ?? "" }] : []), { title: "point" }],
    rows: figure.series.flatMap((series) => series.x.map((x, i): Cell[] => {
      const point = series.point?.[i] ?? -1;
      return [labelOf(series.label), place(x), ...(heat ? [figure.y.categories?.[series.y[i] ?? -1] ?? null] : []), (heat ? series.value?.[i] : series.y[i]) ?? null,
        ...(intervals ? [series.low?.[i] ?? null, series.high?.[i] ?? null] : []), study.points[point]?.id ?? null];
    })),
  };
}

function summaryOf(figure: Figure): string {
  const unit = figure.y.unit ?? "";
  const heat = figure.kind === "heat-map";
  const told = figure.series.slice(0, 12).map((series) => {
    const known = (heat ? (series.value ?? []) : series.y).flatMap((value, i) => (value === null ? [] : [{ value, i }]));
    if (known.length === 0) return `${labelOf(series.label)}: no values`;
    const place = (i: number): string => `${figure.x.categories?.[series.x[i]!] ?? quantity(series.x[i], figure.x.unit ?? "")}${heat ? `, ${figure.y.categories?.[series.y[i] ?? -1] ?? ""}` : ""}`;
    const low = known.reduce((a, b) => (b.value < a.value ? b : a));
    const high = known.reduce((a, b) => (b.value > a.value ? b : a));
    return `${labelOf(series.label)}: from ${quantity(low.value, unit)} at ${place(low.i)} to ${quantity(high.value, unit)} at ${place(high.i)}`;
  });
  return `${figure.y.title} by ${figure.x.title}. ${told.join("; ")}.${figure.series.length > 12 ? ` And ${figure.series.length - 12} more series.` : ""}`;
}

function draw(figure: Figure, width: number, panels: Figure[], links: PointLinks): SVGSVGElement {
  const shared = sharedBy(figure, panels);
  switch (figure.kind) {
    case "heat-map": return heatmap(figure, width, shared.y, links);
    case "bar":
    case "stack": return bars(figure, width, shared, links);
    default: return plot(figure, width, shared, links);
  }
}

/** How far the highest bar may stand above the middle one before the others can no longer be told apart. */
const kFlattens = 8;
const kShares = new Set(["%", "1"]);

/** Bars of a quantity of which one flattens the others stand on a logarithmic axis, in all panels of that quantity. */
function withRoom(panels: Figure[]): Figure[] {
  const flattened = (panel: Figure): boolean => {
    const values = panel.series.flatMap((series) => series.y).filter((value): value is number => value !== null).sort((a, b) => a - b);
    return panel.kind === "bar" && !kShares.has(panel.y.unit ?? "") && values.length > 2 && values[0]! > 0 && values[values.length - 1]! > kFlattens * values[Math.floor(values.length / 2)]!;
  };
  const quantityOf = (panel: Figure): string => `${panel.y.title}|${panel.y.unit}`;
  const flat = new Set(panels.filter(flattened).map(quantityOf));
  return panels.map((panel) => (panel.kind === "bar" && flat.has(quantityOf(panel)) ? { ...panel, y: { ...panel.y, log: true } } : panel));
}

/** One figure with its panels side by side. */
function figureView(given: Figure[], study: StudyDocument): HTMLElement {
  const panels = withRoom(given);
  const raised = [...new Set(panels.filter((panel, i) => panel !== given[i]).map((panel) => panel.y.title))];
  const first = panels[0]!;
  const links: PointLinks = { href: (point) => pointHref(study, point), title: (point) => pointTitle(study, point) };
  const { entries, variants } = legendOf(panels);
  const heading = [first.label, first.title].filter(Boolean).join(": ");
  const same = panels.every((panel) => panel.title === first.title);
  // What is said of one panel only stands above it.
  const [told, seen] = [panels.every((panel) => panel.caption === first.caption), panels.every((panel) => panel.reported === first.reported)];
  const reportedOf = (panel: Figure): HTMLElement | null => (panel.reported ? h("p", { class: "reported" }, h("b", {}, "Reported: "), panel.reported) : null);
  const above = [seen ? reportedOf(first) : null,
    entries.length > 1 && first.kind !== "heat-map" ? legend(entries.map(({ title, token }) => ({ title: labelOf(title), token }))) : null,
    variants ? h("p", { class: "note" }, variants) : null,
    panels.some((panel) => sharedBy(panel, panels).apart) ? h("p", { class: "note" }, "Scales differ between panels: on one, the smaller values could not be seen.") : null,
    raised.length > 0 ? h("p", { class: "note" }, `Logarithmic, since one bar would flatten the others: ${raised.join(", ")}.`) : null];
  const drawing = (panel: Figure) => ({ active: true, later: true, summary: summaryOf(panel), table: () => tableOf(panel, study),
    draw: (host: HTMLElement, width: number) => host.replaceChildren(draw(panel, width, panels, links)) });
  const id = `at-figure-${first.id}`;
  if (panels.length === 1) {
    const wide = (first.x.categories?.length ?? 0) * first.series.length > 60;
    return h("article", { class: wide ? "figure wide" : "figure", id }, picture({ title: first.panel ? `${heading}, ${first.panel}` : heading, note: first.caption, before: above, ...drawing(first) }));
  }
  return h("article", { class: "figure wide", id }, h("h3", {}, heading), told && first.caption ? h("p", { class: "note" }, first.caption) : null, ...above,
    h("div", { class: "panels" }, ...panels.map((panel) => picture({ title: panel.panel ?? (same ? first.title : panel.title), of: heading, level: 4, ...(told ? {} : { note: panel.caption }), before: [seen ? null : reportedOf(panel)], ...drawing(panel) }))));
}

const numberOf = (figure: Figure): number => Number(/^Figure (\d+)/.exec(figure.label)?.[1] ?? Infinity);

/** Figures of one id belong together; numbered ones first, by number, the others in the document's order. */
export function grouped(figures: Figure[]): Figure[][] {
  const groups = new Map<string, Figure[]>();
  for (const figure of figures) groups.set(figure.id, [...(groups.get(figure.id) ?? []), figure]);
  const order = (a: number, b: number): number => (a === b ? 0 : a - b);
  return [...groups.values()].sort((a, b) => order(numberOf(a[0]!), numberOf(b[0]!)));
}

export const figuresView = (study: StudyDocument): HTMLElement => h("div", { class: "figures" }, ...grouped(study.figures).map((panels) => figureView(panels, study)));
