import type { RankColumns, RunDocument } from "../document";
import { choice, h } from "../base/dom";
import { plural, quantity } from "../base/format";
import { ramp } from "../base/ramp";
import { css } from "../base/theme";
import { s } from "../base/dom";
import { label, newSvg } from "../charts/frame";
import type { Moment } from "../parts/moment";
import { picture, redraw } from "../parts/picture";
import { canvasIn, SvgSurface, type Surface } from "../parts/surface";
import { table, type Cell, type TableData } from "../parts/table";
import { hideTip, showTip, tipOn } from "../parts/tip";
import { arrangementsOf, cellAt, layoutCluster, placesOf, type Arrangement, type ClusterLayout, type Places } from "./machine_layout";
import { machineMetrics, paintChassis, paintCluster, type MachineMetric } from "./machine_paint";
import { indexAt } from "./series";

/** What is chosen, and who must be drawn again when that changes. */
interface Choice {
  metric: MachineMetric;
  /** Colours span all there could be, not only what there is. */
  absolute: boolean;
  arrangement: Arrangement;
  node: number;
  again: (() => void)[];
}

const rangeOf = ({ metric, absolute }: Choice): [number, number] => (absolute ? metric.absolute : metric.range);
const change = (chosen: Choice, to: Partial<Choice>): void => {
  Object.assign(chosen, to);
  for (const one of chosen.again) one();
};

function extremes(ranks: RankColumns, metric: MachineMetric): string {
  const { values } = metric;
  let [low, high] = [0, 0];
  values.forEach((value, i) => {
    if (value < values[low]!) low = i;
    if (value > values[high]!) high = i;
  });
  const sorted = [...values].sort((a, b) => a - b);
  const at = (i: number): string => `${quantity(values[i], metric.unit)} (rank ${ranks.rank[i]}, node ${ranks.node[i]}, slot ${ranks.slot[i]})`;
  return `${metric.title}: lowest ${at(low)}, median ${quantity(sorted[Math.floor(sorted.length / 2)], metric.unit)}, highest ${at(high)}.`;
}

function tableOf(ranks: RankColumns, metrics: MachineMetric[], members: number[]): TableData {
  return { columns: [{ title: "rank", unit: "" }, { title: "node", unit: "" }, { title: "slot", unit: "" }, { title: "stage", unit: "" }, ...metrics.map((metric) => ({ title: metric.title, unit: metric.unit }))],
    rows: members.map((i): Cell[] => [ranks.rank[i]!, ranks.node[i]!, ranks.slot[i]!, ranks.stage[i]!, ...metrics.map((metric) => metric.values[i]!)]) };
}

/** Draws on the host's canvas, and again whenever the choice changes. */
function painted(chosen: Choice, height: (width: number) => number, paint: (surface: Surface, width: number) => void) {
  let place: HTMLElement | undefined;
  chosen.again.push(() => place && redraw(place));
  return {
    draw: (host: HTMLElement, width: number): void => {
      place = host;
      paint(canvasIn(host, width, height(width)).surface, width);
    },
    svg: (width: number): SVGSVGElement => {
      const surface = new SvgSurface(width, height(width));
      paint(surface, width);
      return surface.element;
    },
  };
}

function histogram(chosen: Choice, width: number): SVGSVGElement {
  const { values, unit } = chosen.metric;
  const [low, high] = rangeOf(chosen);
  const count = Math.min(48, Math.max(12, Math.floor(width / 20)));
  const bins = new Array<number>(count).fill(0);
  for (const value of values) ++bins[high > low ? Math.min(count - 1, Math.max(0, Math.floor(((value - low) / (high - low)) * count))) : 0]!;
  const most = Math.max(...bins);
  const svg = newSvg(width, 84);
  const slot = width / count;
  bins.forEach((bin, i) => {
    const tall = bin > 0 ? Math.max(2, (bin / most) * 46) : 0;
    const from = low + ((high - low) * i) / count;
    const bar = s("g", {}, s("rect", { x: i * slot, y: 0, width: slot, height: 62, fill: "transparent" }),
      s("rect", { x: i * slot, y: 48 - tall, width: slot - 1, height: tall, style: `fill:${css("muted")}` }),
      s("rect", { x: i * slot, y: 51, width: slot + 0.5, height: 10, fill: ramp(chosen.metric.ramp, (i + 0.5) / count) }));
    svg.append(tipOn(bar, `${quantity(from, unit)} to ${quantity(from + (high - low) / count, unit)}`, [["GPUs", bin.toLocaleString("en")]]));
  });
  svg.append(label(quantity(low, unit), 0, 74, { size: 11 }), label(quantity(high, unit), width, 74, { anchor: "end", size: 11 }),
    label(`${chosen.metric.title}, ${plural(values.length, "GPU")}`, width / 2, 74, { anchor: "middle", size: 11 }));
  return svg;
}

function histogramPicture(ranks: RankColumns, metrics: MachineMetric[], chosen: Choice, controls: HTMLElement[]): HTMLElement {
  let place: HTMLElement | undefined;
  chosen.again.push(() => place && redraw(place));
  return picture({
    title: "All GPUs", controls, summary: metrics.map((metric) => extremes(ranks, metric)).join(" "),
    note: "How many GPUs lie where; the colours are those of the pictures below.",
    table: () => tableOf(ranks, metrics, ranks.rank.map((_, i) => i)),
    draw: (host, width) => {
      place = host;
      host.replaceChildren(histogram(chosen, width));
    },
  });
}

function clusterPicture(ranks: RankColumns, metrics: MachineMetric[], places: Places, chosen: Choice, controls: HTMLElement[]): HTMLElement {
  let made: { width: number; by: Arrangement; layout: ClusterLayout } | undefined;
  const layout = (width: number): ClusterLayout => {
    if (made?.width !== width || made.by !== chosen.arrangement) made = { width, by: chosen.arrangement, layout: layoutCluster(ranks, places, chosen.arrangement, width) };
    return made.layout;
  };
  const marked = (): number => (chosen.arrangement.name === "node" ? chosen.node : -1);
  const canvas = painted(chosen, (width) => layout(width).height, (surface, width) => paintCluster(surface, layout(width), chosen.metric, rangeOf(chosen), width, marked()));
  const nodes = nodesOf(ranks);
  const members = byNode(ranks, nodes);
  return picture({
    title: "Cluster", active: true, controls,
    note: `${plural(nodes, "node")}; a cell is a GPU. Click one, or move with the arrow keys, to see its node below.`,
    summary: metrics.map((metric) => extremes(ranks, metric)).join(" "),
    table: () => tableOf(ranks, metrics, ranks.rank.map((_, i) => i)),
    ...canvas,
    draw: (host, width) => {
      const old = host.querySelector("canvas");
      canvas.draw(host, width);
      if (!old) listen(host.querySelector("canvas")!, layout, ranks, members, chosen);
    },
  });
}

const nodesOf = (ranks: RankColumns): number => ranks.node.reduce((most, node) => Math.max(most, node), 0) + 1;

function byNode(ranks: RankColumns, nodes: number): number[][] {
  const members: number[][] = Array.from({ length: nodes }, () => []);
  ranks.node.forEach((node, i) => members[node]!.push(i));
  return members;
}

/** What a group of GPUs has of a metric: mean and extremes, and who the highest is. */
function groupWords(ranks: RankColumns, metric: MachineMetric, own: number[]): [string, string][] {
  const { values, unit, title } = metric;
  const [high, low] = [own.reduce((best, i) => (values[i]! > values[best]! ? i : best), own[0]!), own.reduce((best, i) => (values[i]! < values[best]! ? i : best), own[0]!)];
  const mean = own.reduce((sum, i) => sum + values[i]!, 0) / own.length;
  return [[`${title}, mean`, quantity(mean, unit)], ["highest", `${quantity(values[high], unit)} (rank ${ranks.rank[high]})`], ["lowest", `${quantity(values[low], unit)} (rank ${ranks.rank[low]})`]];
}

function listen(canvas: HTMLCanvasElement, layout: (width: number) => ClusterLayout, ranks: RankColumns, members: number[][], chosen: Choice): void {
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "Cluster: arrow keys choose a node");
  const blockAt = (event: PointerEvent | MouseEvent): { block: number; rank: number } => {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const at = layout(canvas.clientWidth);
    return { block: at.blocks.findIndex((one) => x >= one.x && x < one.x + one.width && y >= one.y && y < one.y + one.height), rank: cellAt(at, x, y) };
  };
  const nodeAt = (event: MouseEvent): number => {
    const { block, rank } = blockAt(event);
    return chosen.arrangement.name === "node" ? block : rank < 0 ? -1 : ranks.node[rank]!;
  };
  canvas.addEventListener("pointermove", (event) => {
    const { block, rank } = blockAt(event);
    if (block < 0) return hideTip();
    const by = chosen.arrangement;
    const own = by.name === "node" ? members[block]! : by.group.flatMap((group, i) => (group === block ? [i] : []));
    const gpu: [string, string][] = rank < 0 ? [] : [[`rank ${ranks.rank[rank]}, slot ${ranks.slot[rank]}`, quantity(chosen.metric.values[rank], chosen.metric.unit)]];
    showTip(event.clientX, event.clientY, by.name === "node" ? `node ${block}` : `${by.title} ${block}`, [...gpu, ...groupWords(ranks, chosen.metric, own)]);
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("click", (event) => {
    const node = nodeAt(event);
    if (node >= 0) change(chosen, { node });
  });
  canvas.addEventListener("keydown", (event) => {
    const at = layout(canvas.clientWidth);
    const columns = chosen.arrangement.name === "node" ? Math.max(1, at.blocks.filter((block) => block.y === 0).length) : 8;
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const node = chosen.node + by;
    if (node >= 0 && node < members.length) change(chosen, { node });
  });
}

function chassisPicture(run: RunDocument, ranks: RankColumns, metrics: MachineMetric[], places: Places, chosen: Choice): HTMLElement {
  const nodes = nodesOf(ranks);
  const members = byNode(ranks, nodes);
  const heading = h("b", { class: "node-name", role: "status" });
  const name = (): void => { heading.textContent = `node ${chosen.node}`; };
  chosen.again.push(name);
  name();
  const height = (width: number): number => (width < 480 ? 30 : 8) + places.lanes * (places.lanes > 6 ? 34 : 58) + 24;
  const canvas = painted(chosen, height, (surface, width) =>
    paintChassis(surface, width, height(width), ranks, members[chosen.node]!, places, chosen.metric, rangeOf(chosen), run.chassis?.cooling ?? ""));
  return picture({
    title: "Chassis from above", controls: nodes > 1 ? [heading] : [],
    note: run.chassis ? "GPUs where they sit in the flow: those behind others breathe what these have warmed." : "Where GPUs sit in this node is not known: they are in order of their index.",
    summary: members[chosen.node]!.map((i) => `slot ${ranks.slot[i]}, rank ${ranks.rank[i]}: ${metrics.map((metric) => `${metric.title} ${quantity(metric.values[i], metric.unit)}`).join(", ")}`).join(". "),
    table: () => tableOf(ranks, metrics, members[chosen.node]!),
    ...canvas,
    draw: (host, width) => {
      canvas.draw(host, width);
      host.setAttribute("aria-label", `Chassis from above, node ${chosen.node}. ${members[chosen.node]!.map((i) => `slot ${ranks.slot[i]}, rank ${ranks.rank[i]}: ${quantity(chosen.metric.values[i], chosen.metric.unit)}`).join(", ")}`);
    },
  });
}

/** Keeps the choice in the address, and follows the moment: what has a course is shown as it is then. */
function follow(run: RunDocument, metrics: MachineMetric[], arrangements: Arrangement[], chosen: Choice, moment: Moment, boxes: HTMLElement[]): void {
  const first = metrics[0]!;
  const node = chosen.node;
  const show = (): void => {
    const values = [chosen.metric.name, chosen.absolute ? "absolute" : "relative", chosen.arrangement.name];
    boxes.forEach((box, i) => { box.querySelector("select")!.value = values[i]!; });
  };
  let seen = -1;
  const move = (): void => {
    if (moment.now === undefined) return;
    // Who sets a moment wants to see it.
    if (seen < 0 && !moment.value("by")) chosen.metric = metrics.find((metric) => metric.course) ?? chosen.metric;
    const index = indexAt(run.series?.time_s ?? [0], moment.now);
    if (index === seen) return;
    seen = index;
    for (const metric of metrics) if (metric.course) metric.values = metric.course.at(moment.now);
    show();
    if (chosen.metric.course) change(chosen, {});
  };
  const restore = (): void => {
    chosen.metric = metrics.find((metric) => metric.name === moment.value("by")) ?? first;
    chosen.absolute = moment.value("scale") === "absolute";
    chosen.arrangement = arrangements.find((one) => one.name === moment.value("group")) ?? arrangements[0]!;
    const wanted = moment.value("node") === undefined ? node : Number(moment.value("node"));
    chosen.node = wanted >= 0 && wanted < nodesOf(run.ranks!) ? Math.floor(wanted) : node;
    seen = -1;
    show();
  };
  restore();
  move();
  moment.onRestore(() => { restore(); change(chosen, {}); });
  moment.onChange(move);
  const told: [string, () => string | undefined][] = [["by", () => (chosen.metric === first ? undefined : chosen.metric.name)], ["scale", () => (chosen.absolute ? "absolute" : undefined)],
    ["group", () => (chosen.arrangement === arrangements[0] ? undefined : chosen.arrangement.name)], ["node", () => (chosen.node === node ? undefined : String(chosen.node))]];
  chosen.again.push(() => {
    for (const [name, value] of told) if (moment.value(name) !== value()) moment.keep(name, value());
  });
}

/** Heat, power and clocks where they are: all GPUs, the cluster, one node. */
export function machineView(run: RunDocument, moment: Moment): HTMLElement | null {
  const ranks = run.ranks;
  if (!ranks) return null;
  const metrics = machineMetrics(run);
  if (metrics.length === 0) return null;
  const slots = ranks.slot.reduce((most, slot) => Math.max(most, slot), 0) + 1;
  const places = placesOf(run.chassis, slots);
  const arrangements = arrangementsOf(run);
  const hottest = metrics[0]!.values.reduce((best, value, i, all) => (value > all[best]! ? i : best), 0);
  const chosen: Choice = { metric: metrics[0]!, absolute: false, arrangement: arrangements[0]!, node: ranks.node[hottest]!, again: [] };
  const by = choice("Colour by", metrics.map((metric) => ({ value: metric.name, title: metric.title })), metrics[0]!.name,
    (name) => change(chosen, { metric: metrics.find((metric) => metric.name === name)! }));
  const scale = choice("Scale", [{ value: "relative", title: "lowest to highest" }, { value: "absolute", title: "absolute, up to the limit" }], "relative",
    (name) => change(chosen, { absolute: name === "absolute" }));
  const arrange = choice("Group by", arrangements.map((one) => ({ value: one.name, title: one.title })), arrangements[0]!.name,
    (name) => change(chosen, { arrangement: arrangements.find((one) => one.name === name)! }));
  const several = ranks.node.some((node) => node !== ranks.node[0]);
  const courses = metrics.filter((metric) => metric.course);
  const estimated = courses.length > 0 && courses.some((metric) => !metric.course!.whole);
  const view = h("div", {}, histogramPicture(ranks, metrics, chosen, [by, scale]),
    estimated ? h("p", { class: "note" }, "At a moment, a GPU whose readings are not in this report is shown as the median GPU of its stage and row is then, apart by the difference of their means.") : null,
    several ? clusterPicture(ranks, metrics, places, chosen, arrangements.length > 1 ? [arrange] : []) : null,
    chassisPicture(run, ranks, metrics, places, chosen),
    h("details", {}, h("summary", {}, `All ${plural(ranks.rank.length, "rank")} as a table`),
      table("Ranks", tableOf(ranks, metrics, ranks.rank.map((_, i) => i)), { rows: "ranks", limit: 32 })));
  follow(run, metrics, arrangements, chosen, moment, [by, scale, arrange]);
  return view;
}
