import type { RankColumns } from "../document";
import { quantity } from "../base/format";
import { ramp, shareOf, type RampName } from "../base/ramp";
import { colour, inkOn } from "../base/theme";
import type { Surface } from "../parts/surface";

export interface MachineMetric {
  name: string;
  title: string;
  unit: string;
  ramp: RampName;
  values: number[];
  range: [number, number];
}

const kMetrics: [keyof RankColumns & string, string, string, RampName][] = [
  ["max_gpu_c", "highest temperature", "°C", "heat"], ["mean_gpu_c", "mean temperature", "°C", "heat"], ["mean_power_w", "mean power", "W", "plain"],
  ["peak_power_w", "peak power", "W", "plain"], ["mean_clock_mhz", "mean clock", "MHz", "plain"], ["throttled_time_fraction", "time throttled", "1", "heat"],
];

/** What GPUs can be coloured by: what the document knows of every rank. */
export function machineMetrics(ranks: RankColumns): MachineMetric[] {
  const known = kMetrics.flatMap(([name, title, unit, by]): MachineMetric[] => {
    const values = ranks[name] as number[] | undefined;
    return values ? [{ name, title, unit, ramp: by, values, range: rangeOf(values) }] : [];
  });
  const idle = ranks.breakdown_s?.idle;
  if (idle) known.push({ name: "idle", title: "time idle in a step", unit: "s", ramp: "plain", values: idle, range: rangeOf(idle) });
  return known;
}

function rangeOf(values: number[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [low, high];
}

/** Where the GPUs of a node lie: across and along the air. */
export interface Places {
  row: number[];
  lane: number[];
  rows: number;
  lanes: number;
}
export function placesOf(chassis: { row: number[]; lane: number[] } | undefined, gpus: number): Places {
  if (chassis && chassis.row.length >= gpus) return { ...chassis, rows: Math.max(...chassis.row) + 1, lanes: Math.max(...chassis.lane) + 1 };
  const lanes = Math.max(1, Math.ceil(Math.sqrt(gpus)));
  return { row: Array.from({ length: gpus }, (_, i) => Math.floor(i / lanes)), lane: Array.from({ length: gpus }, (_, i) => i % lanes), rows: Math.ceil(gpus / lanes), lanes };
}

/** The cluster: a block a node, a cell a GPU, nodes in reading order. */
export interface ClusterLayout {
  columns: number;
  /** Room above the cells for the node's number; 0: too small for one. */
  head: number;
  cell: number;
  blockWidth: number;
  blockHeight: number;
  height: number;
}
const kBlockGap = 4;

export function layoutCluster(nodes: number, places: Places, width: number): ClusterLayout {
  let best: ClusterLayout | undefined;
  for (let cell = 30; cell >= 2; --cell) {
    const head = places.rows * cell >= 28 ? 14 : 0;
    const [blockWidth, blockHeight] = [places.rows * cell + kBlockGap, places.lanes * cell + kBlockGap + head];
    const columns = Math.max(1, Math.floor(width / blockWidth));
    best = { columns: Math.min(columns, nodes), head, cell, blockWidth, blockHeight, height: Math.ceil(nodes / columns) * blockHeight };
    if (best.height <= (cell > 12 ? 200 : Math.max(360, width * 0.5))) return best;
  }
  return best!;
}

export function paintCluster(surface: Surface, layout: ClusterLayout, ranks: RankColumns, places: Places, metric: MachineMetric, width: number, chosen: number): void {
  surface.rect(0, 0, width, layout.height, colour("surface"));
  const gap = layout.cell > 5 ? 1 : layout.cell > 3 ? 0.5 : 0;
  metric.values.forEach((value, i) => {
    const node = ranks.node[i]!;
    const [x, y] = [(node % layout.columns) * layout.blockWidth, Math.floor(node / layout.columns) * layout.blockHeight];
    const slot = ranks.slot[i]!;
    surface.rect(x + kBlockGap / 2 + (places.row[slot] ?? 0) * layout.cell, y + kBlockGap / 2 + layout.head + (places.lane[slot] ?? 0) * layout.cell, layout.cell - gap, layout.cell - gap,
      ramp(metric.ramp, shareOf(value, metric.range)));
  });
  for (let node = 0; layout.head > 0 && node < ranks.node.length; ++node) {
    if (node > ranks.node[ranks.node.length - 1]!) break;
    const [x, y] = [((node % layout.columns) + 0.5) * layout.blockWidth, Math.floor(node / layout.columns) * layout.blockHeight + 9];
    surface.text(String(node), x, y, colour("muted"), { size: 10, anchor: "middle" });
  }
  const [x, y] = [(chosen % layout.columns) * layout.blockWidth, Math.floor(chosen / layout.columns) * layout.blockHeight];
  const [w, h] = [layout.blockWidth, layout.blockHeight];
  for (const [x1, y1, x2, y2] of [[x, y + 1, x + w, y + 1], [x, y + h - 1, x + w, y + h - 1], [x + 1, y, x + 1, y + h], [x + w - 1, y, x + w - 1, y + h]] as const) {
    surface.line(x1, y1, x2, y2, colour("text"), 2);
  }
}

/** One node from above; the coolant flows from left to right. */
export function paintChassis(surface: Surface, width: number, height: number, ranks: RankColumns, members: number[], places: Places, metric: MachineMetric, cooling: string): void {
  surface.rect(0, 0, width, height, colour("surface"));
  const side = width < 480 ? 0 : 96;
  const [top, left, right] = [side > 0 ? 8 : 30, side, width - side];
  surface.rect(left + 0.5, top + 0.5, right - left - 1, height - top - 9, colour("raised"), colour("line"), 8);
  const air = cooling.includes("air") ? "air" : "coolant";
  if (cooling !== "") flow(surface, side, width, top, height, air);
  const [cellWidth, cellHeight] = [(right - left - 16) / places.rows, (height - top - 24) / places.lanes];
  for (const i of members) {
    const slot = ranks.slot[i]!;
    const [x, y] = [left + 8 + (places.row[slot] ?? 0) * cellWidth + 4, top + 8 + (places.lane[slot] ?? 0) * cellHeight + 3];
    const fill = ramp(metric.ramp, shareOf(metric.values[i]!, metric.range));
    const ink = inkOn(fill);
    surface.rect(x, y, cellWidth - 8, cellHeight - 6, fill, undefined, 5);
    const middle = y + (cellHeight - 6) / 2;
    surface.text(quantity(metric.values[i], metric.unit), x + (cellWidth - 8) / 2, middle - (cellHeight > 40 ? 8 : 0), ink, { size: 14, anchor: "middle", bold: true, limit: cellWidth - 12 });
    if (cellHeight > 40) surface.text(`rank ${ranks.rank[i]}, stage ${ranks.stage[i]}`, x + (cellWidth - 8) / 2, middle + 10, ink, { size: 11, anchor: "middle", limit: cellWidth - 12 });
  }
}

function flow(surface: Surface, side: number, width: number, top: number, height: number, air: string): void {
  const [cold, warm] = [colour("series7"), colour("allreduce")];
  if (side === 0) {
    surface.text(`${air} in →`, 0, 14, cold, { size: 12, bold: true });
    surface.text(`→ out, warm`, width, 14, warm, { size: 12, bold: true, anchor: "end" });
    return;
  }
  const middle = (top + height) / 2;
  for (const offset of [-0.28, 0, 0.28]) {
    const y = middle + offset * (height - top);
    for (const [from, paint] of [[8, cold], [width - side + 8, warm]] as const) {
      const to = from + side - 24;
      surface.line(from, y, to, y, paint, 2);
      surface.line(to - 7, y - 5, to, y, paint, 2);
      surface.line(to - 7, y + 5, to, y, paint, 2);
    }
  }
  surface.text(`${air} in`, side / 2 - 4, middle - 16, cold, { size: 12, bold: true, anchor: "middle" });
  surface.text("out, warm", width - side / 2 + 2, middle - 16, warm, { size: 12, bold: true, anchor: "middle" });
}
