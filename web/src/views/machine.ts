import type { RankColumns, RunDocument } from "../document";
import { choice, h } from "../base/dom";
import { plural, quantity } from "../base/format";
import { ramp } from "../base/ramp";
import { css } from "../base/theme";
import { s } from "../base/dom";
import { label, newSvg } from "../charts/frame";
import { picture, redraw } from "../parts/picture";
import { canvasIn, SvgSurface, type Surface } from "../parts/surface";
import { table, type Cell, type TableData } from "../parts/table";
import { hideTip, showTip, tipOn } from "../parts/tip";
import { layoutCluster, machineMetrics, paintChassis, paintCluster, placesOf, type ClusterLayout, type MachineMetric, type Places } from "./machine_paint";

/** What is chosen, and who must be drawn again when that changes. */
interface Choice {
  metric: MachineMetric;
  node: number;
  again: (() => void)[];
}

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
  const { values, range: [low, high], unit } = chosen.metric;
  const count = Math.min(48, Math.max(12, Math.floor(width / 20)));
  const bins = new Array<number>(count).fill(0);
  for (const value of values) ++bins[high > low ? Math.min(count - 1, Math.floor(((value - low) / (high - low)) * count)) : 0]!;
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

function clusterPicture(ranks: RankColumns, metrics: MachineMetric[], places: Places, chosen: Choice): HTMLElement {
  const nodes = Math.max(...ranks.node.slice(0, 1), ranks.node.reduce((most, node) => Math.max(most, node), 0)) + 1;
  const layout = (width: number): ClusterLayout => layoutCluster(nodes, places, width);
  const canvas = painted(chosen, (width) => layout(width).height, (surface, width) => paintCluster(surface, layout(width), ranks, places, chosen.metric, width, chosen.node));
  const members = byNode(ranks, nodes);
  return picture({
    title: "Cluster", active: true,
    note: `${plural(nodes, "node")}, a block each. Click one, or move with the arrow keys, to see it below.`,
    summary: metrics.map((metric) => extremes(ranks, metric)).join(" "),
    table: () => tableOf(ranks, metrics, ranks.rank.map((_, i) => i)),
    ...canvas,
    draw: (host, width) => {
      const old = host.querySelector("canvas");
      canvas.draw(host, width);
      if (!old) listen(host.querySelector("canvas")!, layout, nodes, members, chosen);
    },
  });
}

function byNode(ranks: RankColumns, nodes: number): number[][] {
  const members: number[][] = Array.from({ length: nodes }, () => []);
  ranks.node.forEach((node, i) => members[node]!.push(i));
  return members;
}

function listen(canvas: HTMLCanvasElement, layout: (width: number) => ClusterLayout, nodes: number, members: number[][], chosen: Choice): void {
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "Cluster: arrow keys choose a node");
  const nodeAt = (event: PointerEvent | MouseEvent): number => {
    const box = canvas.getBoundingClientRect();
    const at = layout(canvas.clientWidth);
    const column = Math.floor((event.clientX - box.left) / at.blockWidth);
    const node = Math.floor((event.clientY - box.top) / at.blockHeight) * at.columns + column;
    return column >= at.columns || node >= nodes ? -1 : node;
  };
  canvas.addEventListener("pointermove", (event) => {
    const node = nodeAt(event);
    if (node < 0) return hideTip();
    const { values, unit, title } = chosen.metric;
    const own = members[node]!.map((i) => values[i]!);
    const mean = own.reduce((sum, value) => sum + value, 0) / own.length;
    showTip(event.clientX, event.clientY, `node ${node}`, [[`${title}, mean`, quantity(mean, unit)], ["highest", quantity(Math.max(...own), unit)], ["lowest", quantity(Math.min(...own), unit)]]);
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("click", (event) => {
    const node = nodeAt(event);
    if (node >= 0) change(chosen, { node });
  });
  canvas.addEventListener("keydown", (event) => {
    const columns = layout(canvas.clientWidth).columns;
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const node = chosen.node + by;
    if (node >= 0 && node < nodes) change(chosen, { node });
  });
}

function chassisPicture(run: RunDocument, ranks: RankColumns, metrics: MachineMetric[], places: Places, chosen: Choice): HTMLElement {
  const nodes = ranks.node.reduce((most, node) => Math.max(most, node), 0) + 1;
  const members = byNode(ranks, nodes);
  const heading = h("b", { class: "node-name", role: "status" });
  const name = (): void => { heading.textContent = `node ${chosen.node}`; };
  chosen.again.push(name);
  name();
  const height = (width: number): number => (width < 480 ? 30 : 8) + places.lanes * (places.lanes > 6 ? 34 : 58) + 24;
  const canvas = painted(chosen, height, (surface, width) =>
    paintChassis(surface, width, height(width), ranks, members[chosen.node]!, places, chosen.metric, run.chassis?.cooling ?? ""));
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

/** Heat, power and clocks where they are: all GPUs, the cluster, one node. */
export function machineView(run: RunDocument): HTMLElement | null {
  const ranks = run.ranks;
  if (!ranks) return null;
  const metrics = machineMetrics(ranks);
  if (metrics.length === 0) return null;
  const slots = ranks.slot.reduce((most, slot) => Math.max(most, slot), 0) + 1;
  const places = placesOf(run.chassis, slots);
  const hottest = metrics[0]!.values.reduce((best, value, i, all) => (value > all[best]! ? i : best), 0);
  const chosen: Choice = { metric: metrics[0]!, node: ranks.node[hottest]!, again: [] };
  const by = choice("Colour by", metrics.map((metric) => ({ value: metric.name, title: metric.title })), metrics[0]!.name,
    (name) => change(chosen, { metric: metrics.find((metric) => metric.name === name)! }));
  const several = ranks.node.some((node) => node !== ranks.node[0]);
  return h("div", {}, histogramPicture(ranks, metrics, chosen, [by]),
    several ? clusterPicture(ranks, metrics, places, chosen) : null,
    chassisPicture(run, ranks, metrics, places, chosen),
    h("details", {}, h("summary", {}, `All ${plural(ranks.rank.length, "rank")} as a table`),
      table("Ranks", tableOf(ranks, metrics, ranks.rank.map((_, i) => i)), { rows: "ranks", limit: 32 })));
}
