import type { Recorded, RecordedDevice, RunDocument } from "../document";
import { h, s } from "../base/dom";
import { plural, quantity, words } from "../base/format";
import { css, seriesToken } from "../base/theme";
import { label, newSvg } from "../charts/frame";
import { linear } from "../charts/scale";
import { tickTexts } from "../charts/frame";
import { picture } from "../parts/picture";
import { fitted } from "../parts/surface";
import { table, type Cell, type Column } from "../parts/table";

const kSeconds = 1e-9;
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** From the first reading or event to the last. */
function lengthOf(recorded: Recorded): number | undefined {
  const { telemetry, trace } = recorded;
  const devices = [...(telemetry?.gpus ?? []), ...(telemetry?.nodes ?? []), ...(telemetry?.cpus ?? [])].filter((device) => device.end_ns > device.start_ns);
  if (devices.length > 0) return (Math.max(...devices.map((device) => device.end_ns)) - Math.min(...devices.map((device) => device.start_ns))) * kSeconds;
  return trace && trace.ranks.length > 0 ? Math.max(...trace.ranks.map((rank) => rank.span_ns)) * kSeconds : undefined;
}

function counted(names: string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count > 1 ? `${count.toLocaleString("en")} × ${name}` : name)).join(", ");
}

/** Facts that have a line of their own below, or are told elsewhere on the page. */
const kTold = new Set(["command", "host", "settings", "prediction"]);

/** What the recorder calls them, in words. */
const kFactWords: Record<string, string> = { hz: "readings a second", missed_ticks: "readings missed", ergometer_version: "Ergometer" };

/** A source that could not be read is a fact, with the reason for its value. */
const kMissing = "missing.";
const dateOf = (ns: number): string => (Number.isFinite(ns) && ns > 0 ? new Date(ns / 1e6).toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC") : "");

/** Who was recorded and where: the command, hosts, GPUs, ranks, how long; then everything else that the file says of itself. */
export function whoView(run: RunDocument): HTMLElement | null {
  const recorded = run.recorded!;
  const facts = (run.summary.facts ?? {}) as Record<string, unknown>;
  const { trace, telemetry } = recorded;
  const devices = [...(telemetry?.gpus ?? []), ...(telemetry?.nodes ?? []), ...(telemetry?.cpus ?? [])];
  const hosts = [...new Set([textOf(facts.host), ...devices.map((device) => device.host)].filter(Boolean))];
  const gpus = (trace?.ranks ?? []).map((rank) => rank.gpu ?? "").filter(Boolean);
  const named = gpus.length > 0 ? gpus : (telemetry?.gpus ?? []).map((device) => device.name || "GPU");
  const length = lengthOf(recorded);
  const lines: [string, string][] = [
    ["command", textOf(facts.command)], ["host", hosts.length > 8 ? `${hosts.slice(0, 8).join(", ")} and ${hosts.length - 8} more` : hosts.join(", ")], ["GPUs", counted(named)],
    ["ranks with a trace", trace ? trace.ranks.length.toLocaleString("en") : ""], ["recorded for", length === undefined ? "" : quantity(length, "s")],
    ...Object.entries(facts).filter(([name]) => !kTold.has(name) && !name.startsWith(kMissing)).map(([name, value]): [string, string] => [kFactWords[name] ?? words(name.replace(/_ns$/, "").replace(/^tag\./, "")), name.endsWith("_ns") ? dateOf(Number(value)) : String(value)]),
  ];
  const known = lines.filter(([, value]) => value !== "");
  const [first, rest] = [known.slice(0, 8), known.slice(8)];
  if (first.length === 0) return null;
  const list = (rows: [string, string][]): HTMLElement => h("dl", { class: "facts" }, ...rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  return h("div", { class: "block" }, list(first), rest.length > 0 ? h("details", {}, h("summary", {}, `${plural(rest.length, "more fact")}`), list(rest)) : null);
}

/** What is read of a device: a number, or lowest, mean and highest. */
const kReadings: [string, string, string][] = [
  ["mean_w", "mean power", "W"], ["peak_w", "peak power", "W"], ["energy_j", "energy", "J"], ["energy_error_pct", "energy and mean power, ±, 90 %", "%"], ["gpu_c", "GPU temperature", "°C"], ["memory_c", "memory temperature", "°C"], ["cpu_c", "CPU temperature", "°C"],
  ["sm_clock_mhz", "clock", "MHz"], ["memory_clock_mhz", "memory clock", "MHz"], ["utilization_pct", "busy", "%"], ["memory_utilization_pct", "memory busy", "%"], ["cpu_utilization_pct", "processors busy", "%"],
  ["net_sent", "sent", "B"], ["net_received", "received", "B"],
  ["memory_used_b", "memory used", "bytes"], ["fan_pct", "fan", "%"], ["power_limit_w", "power limit", "W"], ["idle_fraction", "idle", "1"], ["throttled_time_fraction", "throttled", "1"], ["readings", "readings", ""],
];

const trafficOf = (device: RecordedDevice): { counter: string; bytes: number }[] => (device.traffic as { counter: string; bytes: number }[] | undefined) ?? [];

function deviceTable(title: string, read: RecordedDevice[]): HTMLElement | null {
  if (read.length === 0) return null;
  const devices = read.map((device): RecordedDevice => ({ ...device, ...Object.fromEntries(trafficOf(device).map(({ counter, bytes }) => [counter, bytes])) }));
  const known = kReadings.filter(([name]) => devices.some((device) => device[name] !== undefined));
  const spread = (value: unknown): value is { mean: number; lowest: number; highest: number } => typeof value === "object" && value !== null;
  const columns: Column[] = [{ title: "device" }, { title: "host", facet: true }, ...known.flatMap(([name, heading, unit]): Column[] =>
    (devices.some((device) => spread(device[name])) ? [{ title: `${heading}, mean`, unit }, { title: "lowest", unit }, { title: "highest", unit }] : [{ title: heading, unit }]))];
  const rows = devices.map((device): Cell[] => [[device.rank === undefined ? "" : `rank ${device.rank}`, device.name ?? ""].filter(Boolean).join(", ") || title, device.host,
    ...known.flatMap(([name]): Cell[] => {
      const wide = devices.some((one) => spread(one[name]));
      const value = device[name];
      if (spread(value)) return [value.mean, value.lowest, value.highest];
      return wide ? [null, null, null] : [typeof value === "number" ? value : null];
    })]);
  return h("div", {}, h("h3", {}, title), table(title, { columns, rows }, { rows: "devices", limit: 20, filter: rows.length > 20 }));
}

const kUnits: Record<string, string> = { s: "s", j: "J", w: "W", pct: "%", mhz: "MHz", c: "°C", bytes: "bytes" };

/** A column of numbers whose unit is the end of its name, or of texts. */
export function columnOf(name: string, rows: Record<string, unknown>[]): Column {
  if (!rows.some((row) => typeof row[name] === "number")) return { title: words(name) };
  const end = /_(s|j|w|pct|mhz|c|bytes)$/.exec(name)?.[1];
  return end && !/per_s$/.test(name) ? { title: words(name.slice(0, -end.length - 1)), unit: kUnits[end]! } : { title: words(name), unit: "" };
}

/** Every reading that was taken, by device; what a training log and a meter beside them say. */
export function readingsView(recorded: Recorded): HTMLElement | null {
  const { telemetry } = recorded;
  if (!telemetry) return null;
  const plain = (title: string, rows: Record<string, unknown>[]): HTMLElement | null => {
    if (rows.length === 0) return null;
    const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => rows.some((row) => ["string", "number"].includes(typeof row[name])));
    return h("div", {}, h("h3", {}, title), table(title, { columns: names.map((name) => columnOf(name, rows)),
      rows: rows.map((row) => names.map((name): Cell => (typeof row[name] === "number" || typeof row[name] === "string" ? (row[name] as Cell) : null))) }, { rows: "rows", limit: 20 }));
  };
  const parts = [deviceTable("GPUs", telemetry.gpus), deviceTable("Nodes", telemetry.nodes), deviceTable("CPU packages", telemetry.cpus ?? []), deviceTable("Network ports", telemetry.ports ?? []),
    plain("Training logs", telemetry.training), plain("Meters", telemetry.meters), plain("Energy windows", (telemetry.windows as Record<string, unknown>[] | undefined) ?? []),
    plain("Power limits", (telemetry.power_limits as Record<string, unknown>[] | undefined) ?? []), plain("Gauges", (telemetry.metrics as Record<string, unknown>[] | undefined) ?? []),
    plain("Timed collectives", (telemetry.collectives as Record<string, unknown>[] | undefined) ?? [])].filter(Boolean);
  return parts.length > 0 ? h("div", { class: "block" }, ...parts) : null;
}

/** The stretches of time that a training log names, on the axis of the readings. */
export function marksView(run: RunDocument): HTMLElement | null {
  const marks = run.recorded?.marks ?? [];
  if (marks.length === 0) return null;
  const zero = run.series?.epoch_ns ?? Math.min(...marks.map((mark) => mark.start_ns));
  const shown = marks.map((mark) => ({ ...mark, from: (mark.start_ns - zero) * kSeconds, to: (mark.end_ns - zero) * kSeconds }));
  const rows = [...new Set(shown.map((mark) => mark.name))];
  const ends = run.series ? [run.series.time_s[0]!, run.series.time_s[run.series.time_s.length - 1]!] : [];
  const [low, high] = [Math.min(...shown.map((mark) => mark.from), ...ends), Math.max(...shown.map((mark) => mark.to), ...ends)];
  const draw = (width: number): SVGSVGElement => {
    const left = Math.min(110, width * 0.25);
    const svg = newSvg(width, rows.length * 24 + 28);
    const scale = linear(low, high, left, width - 12, width < 560 ? 4 : 8, "s", true);
    tickTexts(scale.ticks, "s").forEach((text, i) => {
      const x = scale.at(scale.ticks[i]!);
      svg.append(s("line", { x1: x, x2: x, y1: 0, y2: rows.length * 24, style: `stroke:${css("grid")}` }), label(text, x, rows.length * 24 + 12, { anchor: "middle", size: 11 }));
    });
    rows.forEach((row, i) => svg.append(label(fitted(words(row), left - 8), 0, i * 24 + 12, { token: "text" })));
    for (const mark of shown) {
      const row = rows.indexOf(mark.name);
      const x = scale.at(mark.from);
      svg.append(s("rect", { x: x.toFixed(1), y: row * 24 + 4, width: Math.max(1, scale.at(mark.to) - x - 1).toFixed(1), height: 16, style: `fill:${css(seriesToken(row))}` },
        s("title", {}, `${words(mark.name)}: ${quantity(mark.from, "s")} to ${quantity(mark.to, "s")}`)));
    }
    return svg;
  };
  return picture({ title: "What the training log marks", note: "On the same axis of time as the readings.",
    summary: rows.map((row) => `${plural(shown.filter((mark) => mark.name === row).length, "stretch").replace("stretchs", "stretches")} of ${words(row)}, ${quantity(shown.filter((mark) => mark.name === row).reduce((sum, mark) => sum + mark.to - mark.from, 0), "s")} in all`).join("; "),
    table: { columns: [{ title: "log" }, { title: "what" }, { title: "from", unit: "s" }, { title: "to", unit: "s" }], rows: shown.map((mark) => [mark.log, mark.name, mark.from, mark.to]) },
    draw: (host, width) => host.replaceChildren(draw(width)) });
}

/** What could not be read or recorded, and why. */
export function missingView(run: RunDocument): HTMLElement | null {
  const recorded = run.recorded!;
  const unread = Object.entries((run.summary.facts ?? {}) as Record<string, unknown>).filter(([name]) => name.startsWith(kMissing)).map(([name, why]) => `${name.slice(kMissing.length)} was not read: ${String(why)}`);
  const dropped = [...(recorded.trace?.dropped ?? []), ...(recorded.telemetry?.dropped ?? [])];
  const cut = (recorded.trace?.ranks ?? []).filter((rank) => rank.truncated);
  const notes = recorded.telemetry?.notes ?? [];
  const short = Object.entries(recorded.left_out ?? {}).filter(([, count]) => count > 0).map(([name, count]) => `${plural(count, name.replace(/s$/, ""))} of the longest tables ${count === 1 ? "is" : "are"} not on this page: analyze --json has them.`);
  const lines = [...unread, ...notes, ...cut.map((rank) => `The trace of rank ${rank.rank} (${rank.file}) ends in the middle: it was cut off.`), ...short];
  if (lines.length === 0 && dropped.length === 0) return null;
  return h("div", { class: "block" }, lines.length > 0 ? h("ul", { class: "notes" }, ...lines.map((line) => h("li", {}, line))) : null,
    dropped.length > 0 ? table("Left out", { columns: [{ title: "why", wide: true }, { title: "how many", unit: "" }, { title: "file", wide: true }], rows: dropped.map((one) => [one.reason, one.count, one.file]) }, { rows: "reasons", limit: 20, sorted: { column: 1, descending: true } }) : null);
}
