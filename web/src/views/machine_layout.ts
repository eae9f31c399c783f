import type { RankColumns, RunDocument } from "../document";

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

/** Which GPUs stand together: those of a node, of several nodes, or of a parallel group. */
export interface Arrangement {
  name: string;
  title: string;
  /** What a group is called, before its number. */
  noun: string;
  /** Of every rank, by its index. */
  group: number[];
  groups: number;
}

/** A block a group, a cell a GPU, groups in reading order. */
export interface ClusterLayout {
  cell: number;
  height: number;
  width: number;
  blocks: { x: number; y: number; width: number; height: number; title: string }[];
  /** Place of every rank's cell, by its index. */
  x: Float32Array;
  y: Float32Array;
}

const kGap = 4;
const kHead = 14;

/** Ways to put GPUs together; the first is by node. Parallel groups where the layout is known. */
export function arrangementsOf(run: RunDocument): Arrangement[] {
  const ranks = run.ranks!;
  const make = (name: string, title: string, noun: string, of: (i: number) => number): Arrangement => {
    const group = ranks.rank.map((_, i) => of(i));
    return { name, title, noun, group, groups: group.reduce((most, one) => Math.max(most, one), 0) + 1 };
  };
  const all = [make("node", "node", "", (i) => ranks.node[i]!)];
  const job = run.summary.job as { parallelism?: Record<string, number>; cluster?: Record<string, number> } | undefined;
  const { domain_gpus: domain = 0, gpus_per_node: per_node = 0 } = job?.cluster ?? {};
  if (domain > per_node && per_node > 0) all.push(make("rack", "rack", "rack ", (i) => Math.floor(ranks.node[i]! / Math.max(1, Math.floor(domain / per_node)))));
  all.push(make("stage", "pipeline stage", "stage ", (i) => ranks.stage[i]!));
  const { tp = 1, cp = 1, dp = 1 } = job?.parallelism ?? {};
  const in_stage = (i: number): number => ranks.rank[i]! % (tp * cp * dp);
  all.push(make("replica", "data-parallel replica", "replica ", (i) => Math.floor(in_stage(i) / (tp * cp))), make("tp", "tensor-parallel group", "TP ", (i) => Math.floor(ranks.rank[i]! / tp)));
  // One group, or a GPU each, tells nothing.
  return all.filter((one, i) => i === 0 || (one.groups > 1 && one.groups < ranks.rank.length));
}

interface Cells {
  columns: number;
  rows: number;
  column: number[];
  row: number[];
}

/** Of nodes the chassis from above, of other groups rows in the order of ranks. */
function cellsOf(ranks: RankColumns, places: Places, by: Arrangement): Cells {
  if (by.name === "node") return { columns: places.rows, rows: places.lanes, column: ranks.slot.map((slot) => places.row[slot] ?? 0), row: ranks.slot.map((slot) => places.lane[slot] ?? 0) };
  const sizes = new Array<number>(by.groups).fill(0);
  const place = by.group.map((group) => sizes[group]!++);
  const most = Math.max(...sizes);
  // Whole nodes below each other, so that rows of the chassis stand out.
  const columns = most <= 16 ? most : places.row.length * Math.max(1, Math.round(Math.sqrt(most * 4) / places.row.length));
  return { columns, rows: Math.ceil(most / columns), column: place.map((n) => n % columns), row: place.map((n) => Math.floor(n / columns)) };
}

export function layoutCluster(ranks: RankColumns, places: Places, by: Arrangement, width: number): ClusterLayout {
  const cells = cellsOf(ranks, places, by);
  let [cell, head, across, block_width, block_height, height] = [30, 0, 1, 0, 0, 0];
  for (; cell >= 2; --cell) {
    head = by.name !== "node" || cells.columns * cell >= 28 ? kHead : 0;
    [block_width, block_height] = [cells.columns * cell + kGap, cells.rows * cell + kGap + head];
    if (head > 0 && by.name !== "node") block_width = Math.max(block_width, 12 + 7 * (by.noun.length + String(by.groups).length));
    across = Math.max(1, Math.floor(width / block_width));
    height = Math.ceil(by.groups / across) * block_height;
    if (block_width <= width && height <= (cell > 12 ? 200 : Math.max(360, width * 0.5))) break;
  }
  cell = Math.max(2, cell);
  const blocks = Array.from({ length: by.groups }, (_, group) => ({ x: (group % across) * block_width, y: Math.floor(group / across) * block_height, width: block_width, height: block_height,
    title: head > 0 ? `${by.noun}${group}` : "" }));
  const x = Float32Array.from(ranks.rank, (_, i) => blocks[by.group[i]!]!.x + kGap / 2 + cells.column[i]! * cell);
  const y = Float32Array.from(ranks.rank, (_, i) => blocks[by.group[i]!]!.y + kGap / 2 + head + cells.row[i]! * cell);
  return { cell, height, width, blocks, x, y };
}

/** Index of the rank whose cell lies at a place; -1: none does. */
export function cellAt(layout: ClusterLayout, x: number, y: number): number {
  return layout.x.findIndex((left, i) => x >= left && x < left + layout.cell && y >= layout.y[i]! && y < layout.y[i]! + layout.cell);
}
