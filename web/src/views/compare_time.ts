import type { RunDocument, Timeline, TimelineRank } from "../document";
import { quantity, words } from "../base/format";
import { colour, css, kindToken } from "../base/theme";
import { ticksIn } from "../charts/scale";
import { legend } from "../parts/legend";
import { picture } from "../parts/picture";
import { canvasIn, SvgSurface, textWidth, type Surface } from "../parts/surface";
import type { Cell, TableData } from "../parts/table";

type Row = { run: RunDocument; timeline: Timeline; rank: TimelineRank };

const kRow = 18;
const kGap = 14;
const kAxis = 22;
/** Of stages only so many are shown of each: the first, the last, and some between. */
const kMost = 16;

function spread<T>(all: T[]): T[] {
  return all.length <= kMost ? all : Array.from({ length: kMost }, (_, i) => all[Math.round((i * (all.length - 1)) / (kMost - 1))]!);
}

/** The ranks whose passes are known, of both. */
function rowsOf(runs: RunDocument[]): Row[][] {
  return runs.map((run) => (run.timeline ? spread(run.timeline.ranks.filter((rank) => rank.tasks).map((rank) => ({ run, timeline: run.timeline!, rank }))) : []));
}

/** Time of a rank by what it did. */
function spent(rank: TimelineRank): Map<string, number> {
  const sums = new Map<string, number>();
  rank.tasks!.kind.forEach((kind, i) => sums.set(kind, (sums.get(kind) ?? 0) + rank.tasks!.duration_us[i]! / 1e6));
  return sums;
}

function tableOf(rows: Row[]): TableData {
  const kinds = [...new Set(rows.flatMap((row) => row.rank.tasks!.kind))];
  return { columns: [{ title: "job" }, { title: "rank", unit: "" }, { title: "stage", unit: "" }, ...kinds.map((kind) => ({ title: words(kind), unit: "s" })), { title: "step", unit: "s" }],
    rows: rows.map((row): Cell[] => { const own = spent(row.rank); return [row.run.name, row.rank.rank, row.rank.stage, ...kinds.map((kind) => own.get(kind) ?? 0), row.timeline.step_s]; }) };
}

function paint(surface: Surface, width: number, groups: Row[][], end: number): void {
  const left = Math.min(110, width * 0.25);
  const at = (time: number): number => left + (time / end) * (width - left - 8);
  const height = heightOf(groups);
  for (const tick of ticksIn(0, end, width < 560 ? 4 : 8)) {
    surface.line(at(tick), kAxis, at(tick), height, colour("grid"));
    surface.text(quantity(tick, "s"), at(tick), 10, colour("muted"), { size: 11, anchor: "middle" });
  }
  let y = kAxis;
  for (const group of groups) {
    surface.text(group[0]!.run.name, 0, y + 7, colour("text"), { bold: true, limit: width });
    y += kGap + 2;
    for (const { rank, timeline } of group) {
      surface.text(`stage ${rank.stage}`, 0, y + kRow / 2, colour("muted"), { size: 11 });
      surface.rect(left, y, at(timeline.step_s) - left, kRow - 3, colour("raised"));
      rank.tasks!.kind.forEach((kind, i) => {
        const from = rank.tasks!.start_us[i]! / 1e6;
        const wide = at(from + rank.tasks!.duration_us[i]! / 1e6) - at(from);
        surface.rect(at(from), y, Math.max(0.5, wide - (wide > 4 ? 1 : 0)), kRow - 3, colour(kindToken(kind)));
      });
      y += kRow;
    }
    surface.line(at(group[0]!.timeline.step_s), y - group.length * kRow - 2, at(group[0]!.timeline.step_s), y, colour("text"), 2);
    surface.text(quantity(group[0]!.timeline.step_s, "s"), Math.min(at(group[0]!.timeline.step_s), width - textWidth("00.00 s", 11) / 2), y - group.length * kRow - 9, colour("text"), { size: 11, anchor: "middle" });
    y += kGap;
  }
}
const heightOf = (groups: Row[][]): number => kAxis + groups.reduce((sum, group) => sum + kGap + 2 + group.length * kRow + kGap, 0);

/** The passes of both jobs under each other on one axis of time: what is shorter there is shorter here. */
export function timelinesView(runs: RunDocument[]): HTMLElement | null {
  const groups = rowsOf(runs).filter((group) => group.length > 0);
  if (groups.length < 2) return null;
  const rows = groups.flat();
  const end = Math.max(...rows.map((row) => row.timeline.step_s));
  const kinds = [...new Set(rows.flatMap((row) => row.rank.tasks!.kind))];
  return picture({
    title: "Both steps on one axis of time", note: "A rank a stage; what is not filled waits. The line at the right is the end of the step; each job's own page zooms.",
    summary: rows.map((row) => `${row.run.name}, stage ${row.rank.stage}: ${[...spent(row.rank)].map(([kind, time]) => `${words(kind)} ${quantity(time, "s")}`).join(", ")} of ${quantity(row.timeline.step_s, "s")}`).join(". "),
    table: () => tableOf(rows), later: true, before: [legend(kinds.map((kind) => ({ title: words(kind), token: kindToken(kind) })))],
    draw: (host, width) => { host.style.background = css("surface"); paint(canvasIn(host, width, heightOf(groups)).surface, width, groups, end); },
    svg: (width) => { const surface = new SvgSurface(width, heightOf(groups)); paint(surface, width, groups, end); return surface.element; },
  });
}
