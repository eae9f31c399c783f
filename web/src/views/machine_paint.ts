import type { RankColumns, RunDocument } from "../document";
import { quantity } from "../base/format";
import { ramp, shareOf, type RampName } from "../base/ramp";
import { colour, inkOn } from "../base/theme";
import type { Surface } from "../parts/surface";
import type { ClusterLayout, Places } from "./machine_layout";
import { coursesOf, type Course } from "./machine_now";

export interface MachineMetric {
  name: string;
  title: string;
  unit: string;
  ramp: RampName;
  /** One a rank; of a course those at the moment that is shown. */
  values: number[];
  /** Lowest to highest. */
  range: [number, number];
  /** From nothing to where GPUs are held back, or to all there is. */
  absolute: [number, number];
  /** It has a value for every moment. */
  course?: Course;
}

const kMetrics: [keyof RankColumns & string, string, string, RampName][] = [
  ["max_gpu_c", "highest temperature", "°C", "heat"], ["mean_gpu_c", "mean temperature", "°C", "heat"], ["mean_power_w", "mean power", "W", "plain"],
  ["peak_power_w", "peak power", "W", "plain"], ["mean_clock_mhz", "mean clock", "MHz", "plain"], ["throttled_time_fraction", "time throttled", "1", "heat"],
];
/** Rooms are not colder. */
const kRoomC = 20;

/** What GPUs can be coloured by: what the document knows of every rank, of the step and at a moment. */
export function machineMetrics(run: RunDocument): MachineMetric[] {
  const ranks = run.ranks!;
  const limits = run.series?.limits ?? {};
  const absolute = (unit: string, [, high]: [number, number]): [number, number] => {
    if (unit === "°C") return [kRoomC, Math.max(high, limits.slowdown_c ?? high)];
    if (unit === "W") return [0, Math.max(high, limits.power_cap_w ?? limits.tdp_w ?? high)];
    return [0, unit === "1" ? 1 : high];
  };
  const metric = (name: string, title: string, unit: string, by: RampName, values: number[], range = rangeOf(values)): MachineMetric =>
    ({ name, title, unit, ramp: by, values, range, absolute: absolute(unit, range) });
  const known = kMetrics.flatMap(([name, title, unit, by]) => {
    const values = ranks[name] as number[] | undefined;
    return values ? [metric(name, title, unit, by, values)] : [];
  });
  const courses = coursesOf(run).map((course) => ({ ...metric(course.name, course.title, course.unit, course.unit === "°C" ? "heat" : "plain", course.at(0), course.range), course }));
  const idle = ranks.breakdown_s?.idle;
  if (idle) known.push({ ...metric("idle", "time idle in a step", "s", "plain", idle), absolute: [0, Number(run.summary.performance?.step_time_s ?? rangeOf(idle)[1])] });
  return [...known, ...courses];
}

function rangeOf(values: number[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [low, high];
}

/** Of the metric, the range that colours span. */
export type Colouring = (metric: MachineMetric) => [number, number];

export function paintCluster(surface: Surface, layout: ClusterLayout, metric: MachineMetric, range: [number, number], width: number, marked: number): void {
  surface.rect(0, 0, width, layout.height, colour("surface"));
  const gap = layout.cell > 5 ? 1 : layout.cell > 3 ? 0.5 : 0;
  metric.values.forEach((value, i) => {
    if (Number.isFinite(value)) surface.rect(layout.x[i]!, layout.y[i]!, layout.cell - gap, layout.cell - gap, ramp(metric.ramp, shareOf(value, range)));
  });
  for (const block of layout.blocks) {
    if (block.title !== "") surface.text(block.title, block.x + block.width / 2, block.y + 9, colour("muted"), { size: 10, anchor: "middle", limit: block.width });
  }
  const block = layout.blocks[marked];
  if (!block) return;
  const { x, y, width: w, height: h } = block;
  for (const [x1, y1, x2, y2] of [[x, y + 1, x + w, y + 1], [x, y + h - 1, x + w, y + h - 1], [x + 1, y, x + 1, y + h], [x + w - 1, y, x + w - 1, y + h]] as const) {
    surface.line(x1, y1, x2, y2, colour("text"), 2);
  }
}

/** One node from above; the coolant flows from left to right. */
export function paintChassis(surface: Surface, width: number, height: number, ranks: RankColumns, members: number[], places: Places, metric: MachineMetric, range: [number, number], cooling: string): void {
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
    const fill = ramp(metric.ramp, shareOf(metric.values[i]!, range));
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
