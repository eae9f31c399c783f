import type { Recorded, RecordedGroup } from "../document";
import { h } from "../base/dom";
import { quantity, words } from "../base/format";
import { kindToken } from "../base/theme";
import { stackedBars } from "../charts/stacks";
import { legend } from "../parts/legend";
import { picture } from "../parts/picture";
import { table, type Cell } from "../parts/table";
import { columnOf } from "./recorded_log";

const seconds = (ns: number): number => ns * 1e-9;

/** The longest chain of work that waits for nothing else: only what is on it makes the job shorter. */
export function pathView({ critical_path: path }: Recorded): HTMLElement | null {
  if (!path || path.kinds.length === 0) return null;
  const parts = path.kinds.filter((kind) => kind.on_path_ns > 0).map((kind, i) => ({ title: words(kind.kind), token: kindToken(kind.kind, i), value: seconds(kind.on_path_ns) }));
  return h("div", {}, picture({ title: `Critical path of ${quantity(seconds(path.span_ns), "s")}`, note: "What is on it shortens the job when it is shortened; the table says by how much if it took no time.",
    summary: path.kinds.map((kind) => `${words(kind.kind)} ${quantity(seconds(kind.on_path_ns), "s")} (${quantity(kind.on_path_ns / path.span_ns, "1")})`).join(", "),
    table: { columns: [{ title: "kind" }, { title: "on the path", unit: "s" }, { title: "share", unit: "1" }, { title: "shorter if free", unit: "s" }], rows: path.kinds.map((kind) => [kind.kind, seconds(kind.on_path_ns), kind.on_path_ns / path.span_ns, kind.saved_if_free_ns === undefined ? null : seconds(kind.saved_if_free_ns)]) },
    draw: (host, width) => host.replaceChildren(legend(parts), stackedBars([{ label: "critical path", parts }], width, { unit: "s", shares: true })) }),
  path.ranks.length > 1 ? h("div", { class: "block" }, table("Ranks on the critical path", { columns: [{ title: "rank", unit: "" }, { title: "on the path", unit: "s" }, { title: "share", unit: "1" }], rows: path.ranks.map((rank) => [rank.rank, seconds(rank.on_path_ns), rank.on_path_ns / path.span_ns]) }, { rows: "ranks", limit: 8 })) : null);
}

const stragglersOf = (groups: RecordedGroup[]): Map<number, NonNullable<RecordedGroup["straggler"]>> => new Map(groups.flatMap((group) => (group.straggler ? [[group.straggler.rank, group.straggler] as const] : [])));

/** Who comes last in collectives and who waits for it, the straggler marked. */
export function waitsView(recorded: Recorded): HTMLElement | null {
  const { trace, process_groups: groups = [] } = recorded;
  const arrivals = trace?.arrivals;
  if (!arrivals && groups.length === 0) return null;
  const stragglers = stragglersOf(groups);
  const marks = [...stragglers].map(([rank, one]) => h("p", { class: "verdict bad" }, h("b", {}, `Rank ${rank} is a straggler: `),
    `last in ${quantity(one.last_share, "1")} of its group's collectives${one.persistent ? ", all along" : ""}; the others waited ${quantity(seconds(one.caused_waiting_ns), "s")} for it. Cause: ${words(one.cause)}.${one.saved_if_equal_ns === undefined ? "" : ` As fast as the others it would save ${quantity(seconds(one.saved_if_equal_ns), "s")}.`}`));
  const bars = arrivals && arrivals.ranks.length > 1 ? picture({
    title: "Waiting in collectives", note: "Long bars wait; the rank that others wait for has a short one and is marked.",
    summary: arrivals.ranks.map((rank) => `rank ${rank.rank} waited ${quantity(seconds(rank.waiting_ns), "s")}, last ${rank.last} times${stragglers.has(rank.rank) ? ", the straggler" : ""}`).slice(0, 32).join("; "),
    table: { columns: [{ title: "rank", unit: "" }, { title: "last, times", unit: "" }, { title: "late in all", unit: "s" }, { title: "waited", unit: "s" }, { title: "straggler" }], rows: arrivals.ranks.map((rank): Cell[] => [rank.rank, rank.last, seconds(rank.lateness_ns), seconds(rank.waiting_ns), stragglers.has(rank.rank) ? "yes" : ""]) },
    draw: (host, width) => host.replaceChildren(legend([{ title: "waited for others", token: "idle" }, { title: "kept others waiting", token: "allreduce" }]),
      stackedBars(arrivals.ranks.slice(0, 32).map((rank) => ({ label: `rank ${rank.rank}${stragglers.has(rank.rank) ? " ⚑" : ""}`, parts: [{ title: "waited for others", token: "idle" as const, value: seconds(rank.waiting_ns) }, { title: "kept others waiting", token: "allreduce" as const, value: seconds(rank.lateness_ns) }] })), width, { unit: "s" })),
  }) : null;
  const rows = groups.map((group): Cell[] => [group.description || group.group || "unknown", group.parallelism || "", group.group_size > 0 ? group.group_size : null, group.events, seconds(group.total_ns), seconds(group.exposed_ns), seconds(group.waiting_ns), seconds(group.transfer_ns), words(group.verdict ?? ""), group.straggler ? `rank ${group.straggler.rank}` : ""]);
  return h("div", {}, ...marks, bars, rows.length > 0 ? h("div", { class: "block" }, table("Process groups", { columns: [{ title: "group", wide: true }, { title: "parallelism", facet: true }, { title: "ranks", unit: "" }, { title: "collectives", unit: "" }, { title: "time", unit: "s" }, { title: "exposed", unit: "s" }, { title: "waiting", unit: "s" }, { title: "transfer", unit: "s" }, { title: "verdict", facet: true }, { title: "straggler" }], rows },
    { rows: "groups", limit: 15, mark: (value, column) => (column === 9 && value !== "" ? "bad" : undefined) })) : null);
}

/** Steps and readings out of line with the others. */
export function oddView({ anomalies, clock_offsets: clocks }: Recorded): HTMLElement | null {
  const plain = (title: string, rows: Record<string, unknown>[]): HTMLElement | null => {
    if (rows.length === 0) return null;
    const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => rows.every((row) => typeof row[name] !== "object"));
    return h("div", {}, h("h3", {}, title), table(title, { columns: names.map((name) => columnOf(name, rows)), rows: rows.map((row) => names.map((name): Cell => (row[name] ?? null) as Cell)) }, { rows: "rows", limit: 12 }));
  };
  const shifts = (anomalies?.shifts as Record<string, unknown>[] | undefined) ?? [];
  const applied = (clocks?.ranks ?? []).filter((rank) => rank.applied);
  const parts = [plain("Changes of level", shifts), plain("Slow steps", anomalies?.slow_steps ?? []), plain("GPUs unlike their peers", anomalies?.deviations ?? []),
    plain(`Clocks beside rank ${clocks?.reference_rank ?? 0}'s, by the ends of collectives`, applied as unknown as Record<string, unknown>[])].filter(Boolean);
  return parts.length > 0 ? h("div", { class: "block" }, ...parts) : null;
}
