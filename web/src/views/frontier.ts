import type { Figure, StudyDocument } from "../document";
import { choice, h, s } from "../base/dom";
import { plural, quantity } from "../base/format";
import { css } from "../base/theme";
import { sharedBy } from "../charts/panels";
import { plot } from "../charts/plot";
import { extent } from "../charts/scale";
import { legend } from "../parts/legend";
import { picture, redraw } from "../parts/picture";
import { table, type Cell } from "../parts/table";
import { kMetrics, valueOf, type Metric } from "./metrics";
import type { Group } from "./study_groups";
import { axesOf, pointHref, pointName, pointTitle } from "./study_parts";

interface Candidate {
  index: number;
  x: number;
  y: number;
}

/** Those that no other beats in both, by the first value. `sign` -1: more is better. */
export function front(points: Candidate[], signX: number, signY: number): Candidate[] {
  const sorted = [...points].sort((a, b) => signX * (a.x - b.x) || signY * (a.y - b.y) || a.index - b.index);
  let best = Infinity;
  return sorted.filter((point) => {
    if (signY * point.y >= best) return false;
    best = signY * point.y;
    return true;
  });
}

const signOf = (metric: Metric): number => (metric.better === "higher" ? -1 : 1);

/** Points by two values, with the front of those that nothing beats in both: of one model, task and machine, or of all. */
export function frontierView(study: StudyDocument, groups: Group[]): HTMLElement | null {
  const ok = study.points.map((point, index) => ({ point, index })).filter(({ point }) => point.status === "ok" && point.summary);
  const metrics = kMetrics.filter((metric) => metric.better !== "neither" && ok.some(({ point }) => valueOf(point.summary, metric) !== undefined));
  if (ok.length < 2 || metrics.length < 2) return null;
  const pick = (...names: string[]): Metric => names.map((name) => metrics.find((metric) => metric.name === name)).find(Boolean) ?? metrics[0]!;
  let [x, y] = [pick("tokens_per_s_per_gpu", "step_time_s"), pick("tokens_per_j", "max_gpu_c", "peak_bytes")];
  const sets = groups.length > 1 ? groups.map((group) => group.points) : [ok.map(({ index }) => index)];
  const axes = axesOf(study).filter((axis) => {
    const counts = sets.map((points) => new Set(points.map((index) => axis.of(study.points[index]!))).size);
    return Math.max(...counts) > 1 && Math.max(...counts) <= 16;
  });
  // Points of one group have one model: their layouts tell them apart.
  let by = axes.find((axis) => axis.name === (groups.length > 1 ? "layout" : "model")) ?? axes[0];
  let only = groups.length > 1 ? groups[0] : undefined;
  let place: HTMLElement | undefined;
  const best = h("div");

  const candidates = (): Candidate[] => ok.filter(({ index }) => !only || only.points.includes(index)).flatMap(({ point, index }) => {
    const [a, b] = [valueOf(point.summary, x), valueOf(point.summary, y)];
    return a === undefined || b === undefined ? [] : [{ index, x: a, y: b }];
  });
  const figure = (): Figure => {
    const groups = new Map<string, Candidate[]>();
    for (const one of candidates()) {
      const name = by?.of(study.points[one.index]!) || "all";
      groups.set(name, [...(groups.get(name) ?? []), one]);
    }
    const order = by?.values ?? [];
    const names = [...groups.keys()].sort((a, b) => order.indexOf(a) - order.indexOf(b));
    return { id: "frontier", label: "", title: "Frontier", caption: "", kind: "scatter", x: { title: x.title, unit: x.unit }, y: { title: y.title, unit: y.unit },
      series: names.map((name) => ({ label: name, x: groups.get(name)!.map((one) => one.x), y: groups.get(name)!.map((one) => one.y), point: groups.get(name)!.map((one) => one.index) })) };
  };
  const chosenFront = (): Candidate[] => front(candidates(), signOf(x), signOf(y));
  // Where one point is best at both there is nothing to choose: the group that offers most stands first.
  if (groups.length > 1) {
    const lengths = groups.map((group) => { only = group; return chosenFront().length; });
    only = groups[lengths.indexOf(Math.max(...lengths))];
  }
  const rowsOf = (points: Candidate[]): Cell[][] => points.map((one) => [pointName(study, study.points[one.index]!), one.x, one.y]);
  const columns = () => [{ title: "point" }, { title: x.title, unit: x.unit }, { title: y.title, unit: y.unit }];
  const again = (): void => {
    const points = chosenFront();
    const rows = rowsOf(points);
    best.replaceChildren(h("h3", {}, points.length === 1 ? "Nothing beats this point in either" : `Nothing beats these ${plural(points.length, "point")} in both`),
      table("Frontier", { columns: columns(), rows }, { rows: "points", href: (row) => pointHref(study, points[rows.indexOf(row)]?.index ?? -1) }));
    if (place) redraw(place);
  };
  const options = metrics.map((metric) => ({ value: metric.name, title: metric.title }));
  const find = (name: string): Metric => metrics.find((metric) => metric.name === name)!;
  const controls = [...(groups.length > 1 ? [choice("of", [...groups.map(({ title }) => ({ value: title, title })), { value: "", title: "all points" }], only?.title ?? "", (title) => { only = groups.find((group) => group.title === title); again(); })] : []),
    choice("across", options, x.name, (name) => { x = find(name); again(); }), choice("up", options, y.name, (name) => { y = find(name); again(); }),
    ...(axes.length > 1 ? [choice("colour", axes.map(({ name }) => ({ value: name, title: name })), by!.name, (name) => { by = axes.find((axis) => axis.name === name); again(); })] : [])];
  again();
  const points = chosenFront();
  return h("div", {}, picture({
    title: "Two aims at once", controls, active: true, later: true,
    note: "The line joins points that no other beats in both values: choose among them, and ask of every other why it is not there.",
    summary: `${x.title} against ${y.title}, ${plural(candidates().length, "point")}. On the frontier: ${points.map((one) => `${pointTitle(study, one.index)} (${quantity(one.x, x.unit)}, ${quantity(one.y, y.unit)})`).join("; ")}.`,
    table: () => ({ columns: columns(), rows: rowsOf(candidates()) }),
    draw: (host, width) => {
      place = host;
      const drawn = figure();
      const shared = sharedBy(drawn, [drawn]);
      const svg = plot(drawn, width, shared, { href: (point) => pointHref(study, point), title: (point) => pointTitle(study, point) });
      host.replaceChildren(legend(drawn.series.map((series) => ({ title: `${by ? `${by.name} ` : ""}${series.label}`, token: shared.styles.get(series.label)!.token }))), svg);
      drawFront(svg, drawn, chosenFront());
    },
  }), best);
}

/** A line through the signs of the points on the front, found where the plot has put them. */
function drawFront(svg: SVGSVGElement, figure: Figure, points: Candidate[]): void {
  const order = figure.series.flatMap((series) => series.point!);
  const signs = [...svg.querySelectorAll<SVGGraphicsElement>("a > circle, a > polygon")];
  const places = points.flatMap((point) => {
    const sign = signs[order.indexOf(point.index)];
    if (!sign) return [];
    const box = sign.getBBox();
    return [[box.x + box.width / 2, box.y + box.height / 2] as const];
  });
  if (places.length < 2 || extent(places.map(([x]) => x))[0] < 0) return;
  svg.append(s("path", { d: `M${places.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join("L")}`, "pointer-events": "none", style: `fill:none;stroke:${css("text")};stroke-opacity:0.6;stroke-width:1.5`, "stroke-dasharray": "5 3" }));
}
