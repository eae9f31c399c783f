import type { Timeline, TimelineRank } from "../document";
import { moment, quantity, words } from "../base/format";
import { colour, inkOn, kindToken, mixed } from "../base/theme";
import { ticksIn } from "../charts/scale";
import type { Surface } from "../parts/surface";

/** What is seen of the step, in microseconds. */
export interface Window {
  from: number;
  to: number;
}

export const kAxis = 24;
const kTask = 24;
const kTransfer = 6;
const kStream = 14;
const kGap = 10;
/** For the rank's name. */
const kLeast = 16;

/** Passes of a rank in order of time: what follows each other on the compute stream, or what runs beside. */
interface Track {
  /** Index into the rank's tasks. */
  at: number[];
  start: number[];
  duration: number[];
}

function trackOf(rank: TimelineRank, beside: number): Track {
  const t = rank.tasks;
  const at = t ? t.kind.map((_, i) => i).filter((i) => t.beside[i] === beside) : [];
  return { at, start: at.map((i) => t!.start_us[i]!), duration: at.map((i) => t!.duration_us[i]!) };
}

/** "waits for stage 2": of a wait that says for whom. */
function waitWords(what: string | undefined): string {
  if (what === undefined) return "waits";
  if (what.startsWith("send to ")) return `sends to ${what.slice(8)}`;
  return `waits for ${/^(host|end of)/.test(what) ? "the " : ""}${what.replaceAll("_", " ")}`;
}

/** Where a rank's bands lie: passes on top, a band a stream below. */
export interface Lane {
  rank: TimelineRank;
  top: number;
  tasks: number;
  line: Track;
  beside: Track;
  /** Streams that have kernels, with the top of their band. */
  streams: { stream: number; top: number }[];
  bottom: number;
  /** Whether stages are known. */
  stages: boolean;
}

export function lanesOf(timeline: Timeline, kernels: boolean): Lane[] {
  let y = kAxis;
  const stages = timeline.ranks.some((rank) => rank.stage !== timeline.ranks[0]!.stage || rank.tasks);
  return timeline.ranks.map((rank) => {
    const used = [...new Set(kernels ? rank.kernels?.stream : [])].sort((a, b) => a - b);
    const top = y;
    const tasks = rank.tasks ? kTask : 0;
    const streams = used.map((stream, i) => ({ stream, top: top + tasks + 2 + i * kStream }));
    y = top + Math.max(kLeast, tasks + (used.length > 0 ? 2 + used.length * kStream : 0)) + kGap;
    return { rank, top, tasks, line: trackOf(rank, 0), beside: trackOf(rank, 1), streams, bottom: y - kGap, stages };
  });
}
const heightOf = (lanes: Lane[]): number => (lanes.length > 0 ? lanes[lanes.length - 1]!.bottom + 4 : kAxis);
export const labelWidth = (width: number): number => (width < 560 ? 58 : 108);

/** Kernels finer than a pixel: every pixel shows what took most of it. */
class PixelShares {
  private readonly shares = new Map<number, Float32Array>();
  constructor(private readonly categories: number, private readonly width: number) {}

  add(stream: number, x: number, length: number, category: number): void {
    let own = this.shares.get(stream);
    if (!own) this.shares.set(stream, (own = new Float32Array(this.width * this.categories)));
    own[Math.min(this.width - 1, Math.floor(x)) * this.categories + category]! += length;
  }

  /** Stretches of pixels with the same category; pixels that are mostly empty stay so. */
  runs(stream: number, draw: (x: number, length: number, category: number) => void): void {
    const own = this.shares.get(stream);
    if (!own) return;
    let [from, last] = [0, -1];
    for (let x = 0; x <= this.width; ++x) {
      let best = -1;
      for (let c = 0; x < this.width && c < this.categories; ++c) {
        const share = own[x * this.categories + c]!;
        if (share > 0.05 && (best < 0 || share > own[x * this.categories + best]!)) best = c;
      }
      if (best === last) continue;
      if (last >= 0) draw(from, x - from, last);
      [from, last] = [x, best];
    }
  }
}

/** First entry that ends behind `time`; starts are in order and entries of one stream do not overlap. */
function firstBehind(start: number[], duration: number[], time: number): number {
  let [low, high] = [0, start.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[middle]! + duration[middle]! < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class TimelinePainter {
  lanes: Lane[];
  constructor(private readonly timeline: Timeline, kernels: boolean) {
    this.lanes = lanesOf(timeline, kernels);
  }
  get height(): number {
    return heightOf(this.lanes);
  }

  paint(surface: Surface, width: number, view: Window): void {
    const left = labelWidth(width);
    surface.rect(0, 0, width, heightOf(this.lanes), colour("surface"));
    const at = (time: number): number => left + ((time - view.from) / (view.to - view.from)) * (width - left);
    for (const lane of this.lanes) {
      surface.rect(left, lane.top, width - left, lane.bottom - lane.top, colour("raised"));
      if (lane.rank.tasks) this.tasks(surface, lane, view, at, left, width);
      if (lane.streams.length > 0) this.kernels(surface, lane, view, at, left, width);
    }
    this.axis(surface, width, view, at, left);
    for (const lane of this.lanes) this.names(surface, lane, left);
  }

  private axis(surface: Surface, width: number, view: Window, at: (time: number) => number, left: number): void {
    const ticks = ticksIn(view.from, view.to, Math.max(3, Math.round((width - left) / 120)));
    const span = (view.to - view.from) / 1e6;
    for (const tick of ticks) {
      const x = at(tick);
      surface.line(x, kAxis - 6, x, heightOf(this.lanes) - 4, colour("line"), 0.5);
      const unit = span < 2e-3 ? [1, "µs"] as const : span < 2 ? [1e3, "ms"] as const : [1e6, "s"] as const;
      const decimals = Math.max(0, Math.ceil(-Math.log10(((ticks[1] ?? ticks[0]! + (view.to - view.from)) - ticks[0]!) / unit[0]) - 1e-9));
      const text = `${(tick / unit[0]).toLocaleString("en", { minimumFractionDigits: Math.min(6, decimals), maximumFractionDigits: Math.min(6, decimals) })} ${unit[1]}`;
      surface.text(text, x, 9, colour("muted"), { size: 11, anchor: x < left + 20 ? "start" : x > width - 26 ? "end" : "middle" });
    }
  }

  private names(surface: Surface, lane: Lane, left: number): void {
    const { rank, stage } = lane.rank;
    const narrow = left < 80;
    surface.text(`rank ${rank.toLocaleString("en")}`, 0, lane.top + 7, colour("text"), { size: 12, bold: true });
    if (lane.stages) surface.text(`stage ${stage}`, 0, lane.top + 20, colour("muted"), { size: 11 });
    for (const { stream, top } of narrow ? [] : lane.streams) {
      if (top < lane.top + (lane.stages ? 22 : 0)) continue;
      surface.text(this.timeline.streams[stream] ?? "", left - 6, top + kStream / 2, colour("muted"), { size: 10, anchor: "end", limit: left - (lane.stages ? 12 : 50) });
    }
  }

  /** What a task is called in the picture. */
  private titleOf(lane: Lane, i: number): string {
    const { kind, what } = lane.rank.tasks!;
    return kind[i] === "wait" ? waitWords(this.timeline.names[what[i]!]) : words(kind[i]!);
  }

  private tasks(surface: Surface, lane: Lane, view: Window, at: (time: number) => number, left: number, width: number): void {
    const { kind, micro_batch } = lane.rank.tasks!;
    const each = (track: Track, draw: (i: number, x1: number, x2: number) => void): void => {
      for (let n = firstBehind(track.start, track.duration, view.from); n < track.at.length && track.start[n]! < view.to; ++n) {
        draw(track.at[n]!, Math.max(left, at(track.start[n]!)), Math.min(width, at(track.start[n]! + track.duration[n]!)));
      }
    };
    const label = (i: number, x1: number, x2: number, ink: string): void => {
      if (x2 - x1 < 14) return;
      const text = micro_batch[i]! >= 0 ? String(micro_batch[i]) : this.titleOf(lane, i);
      surface.text(text, (x1 + x2) / 2, lane.top + lane.tasks / 2, ink, { size: 11, anchor: "middle", limit: x2 - x1 - 2 });
    };
    each(lane.line, (i, x1, x2) => {
      const waits = kind[i] === "wait";
      const fill = waits ? mixed(colour("raised"), colour("idle"), 0.4) : colour(kindToken(kind[i]!));
      surface.rect(x1, lane.top, Math.max(0.5, x2 - x1 - 0.5), lane.tasks, fill);
      label(i, x1, x2, waits ? colour("text") : inkOn(fill));
    });
    // Low, in front: a receive lasts until its sender is ready, so most of it is waiting.
    each(lane.beside, (i, x1, x2) => surface.rect(x1, lane.top + lane.tasks - kTransfer, Math.max(0.5, x2 - x1 - 0.5), kTransfer, colour(kindToken(kind[i]!))));
  }

  private kernels(surface: Surface, lane: Lane, view: Window, at: (time: number) => number, left: number, width: number): void {
    const kernels = lane.rank.kernels!;
    const fine = new PixelShares(this.timeline.categories.length, Math.ceil(width));
    for (let i = 0; i < kernels.start_us.length; ++i) {
      const start = kernels.start_us[i]!;
      const end = start + kernels.duration_us[i]!;
      if (end < view.from || start > view.to) continue;
      const stream = kernels.stream[i]!;
      const x1 = Math.max(left, at(start));
      const x2 = Math.min(width, at(end));
      if (x2 - x1 < 1.5) {
        fine.add(stream, (x1 + x2) / 2, x2 - x1, kernels.category[i]!);
        continue;
      }
      const top = lane.streams.find((one) => one.stream === stream)!.top;
      const fill = colour(kindToken(this.timeline.categories[kernels.category[i]!]!));
      surface.rect(x1, top, x2 - x1 > 3 ? x2 - x1 - 0.5 : x2 - x1, kStream - 1, fill);
      if (x2 - x1 > 34) surface.text(shortName(this.timeline.names[kernels.name[i]!]!), x1 + 3, top + kStream / 2 - 0.5, inkOn(fill), { size: 10, limit: x2 - x1 - 6 });
    }
    for (const { stream, top } of lane.streams) {
      fine.runs(stream, (x, length, category) => surface.rect(x, top, length, kStream - 1, colour(kindToken(this.timeline.categories[category]!))));
    }
    const blank = (a: number, b: number): void => {
      const [x1, x2] = [Math.max(left, at(a)), Math.min(width, at(b))];
      if (x2 - x1 < 90 || lane.streams.length === 0) return;
      surface.text("kernels not in this report", (x1 + x2) / 2, lane.streams[0]!.top + kStream / 2, colour("muted"), { size: 10, anchor: "middle", limit: x2 - x1 });
    };
    let known = 0;
    for (const [from, to] of kernels.windows_us) {
      if (from > known) blank(known, from);
      known = to;
    }
    if (known < 1e6 * this.timeline.step_s * 0.999) blank(known, 1e6 * this.timeline.step_s);
  }

  /** What lies at a place of the picture. */
  find(x: number, y: number, width: number, view: Window): { title: string; lines: [string, string][]; from: number; to: number } | undefined {
    const left = labelWidth(width);
    if (x < left) return undefined;
    const time = view.from + ((x - left) / (width - left)) * (view.to - view.from);
    const lane = this.lanes.find((one) => y >= one.top && y <= one.bottom);
    if (!lane) return undefined;
    const where = lane.stages ? `rank ${lane.rank.rank}, stage ${lane.rank.stage}` : `rank ${lane.rank.rank}`;
    return y < lane.top + lane.tasks && lane.rank.tasks ? this.taskAt(lane, y, time, where, view) : this.kernelAt(lane, y, time, where, view);
  }

  private taskAt(lane: Lane, y: number, time: number, where: string, view: Window): ReturnType<TimelinePainter["find"]> {
    const t = lane.rank.tasks!;
    const on = (track: Track): number => {
      const n = track.start.findIndex((start, i) => start <= time && start + track.duration[i]! > time);
      return n < 0 ? -1 : track.at[n]!;
    };
    const low = y > lane.top + lane.tasks - kTransfer ? on(lane.beside) : -1;
    const i = low >= 0 ? low : on(lane.line);
    if (i < 0) return { title: "waits", lines: [["where", where]], from: time, to: time };
    const [start, duration, what] = [t.start_us[i]!, t.duration_us[i]!, this.timeline.names[t.what[i]!]];
    const lines: [string, string][] = [["where", where]];
    if (what !== undefined && t.kind[i] !== "wait") lines.push([low >= 0 && /^(send|receive)$/.test(t.kind[i]!) ? "with" : "operator", what.replace(/^send to /, "").replaceAll("_", " ")]);
    if (t.micro_batch[i]! >= 0) lines.push(["micro batch", String(t.micro_batch[i])], ["chunk", String(t.chunk[i])]);
    return { title: this.titleOf(lane, i), lines: [...lines, ...times(start, duration, view)], from: start, to: start + duration };
  }

  private kernelAt(lane: Lane, y: number, time: number, where: string, view: Window): ReturnType<TimelinePainter["find"]> {
    const k = lane.rank.kernels;
    const stream = lane.streams.find((one) => y >= one.top && y < one.top + kStream)?.stream;
    if (!k || stream === undefined) return undefined;
    for (let i = 0; i < k.start_us.length; ++i) {
      const [start, duration] = [k.start_us[i]!, k.duration_us[i]!];
      if (k.stream[i] !== stream || start > time || start + duration < time) continue;
      const layer: [string, string][] = k.layer[i]! >= 0 ? [["layer", String(k.layer[i])]] : [];
      const batch: [string, string][] = k.micro_batch[i]! >= 0 ? [["micro batch", String(k.micro_batch[i])]] : [];
      return { title: this.timeline.names[k.name[i]!]!, from: start, to: start + duration,
        lines: [["where", `${where}, ${this.timeline.streams[stream]}`], ["category", words(this.timeline.categories[k.category[i]!]!)], ...batch, ...layer, ...times(start, duration, view)] };
    }
    return undefined;
  }
}

/** As fine as what is seen. */
const times = (start: number, duration: number, view: Window): [string, string][] =>
  [["starts", moment(start / 1e6, (view.to - view.from) / 1e6)], ["takes", quantity(duration / 1e6, "s")]];
/** "sm90_... [qkv]" is "qkv": what it does says more than which kernel does it. */
const shortName = (name: string): string => /\[([^\]]+)\]$/.exec(name)?.[1] ?? name;
