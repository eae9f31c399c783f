import type { Timeline, TimelineRank } from "../document";
import { quantity, words } from "../base/format";
import { colour, inkOn, kindToken } from "../base/theme";
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

/** Where a rank's bands lie: passes on top, a band a stream below. */
export interface Lane {
  rank: TimelineRank;
  top: number;
  tasks: number;
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
    return { rank, top, tasks, streams, bottom: y - kGap, stages };
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

  private tasks(surface: Surface, lane: Lane, view: Window, at: (time: number) => number, left: number, width: number): void {
    const tasks = lane.rank.tasks!;
    for (let i = firstBehind(tasks.start_us, tasks.duration_us, view.from); i < tasks.start_us.length && tasks.start_us[i]! < view.to; ++i) {
      const x1 = Math.max(left, at(tasks.start_us[i]!));
      const x2 = Math.min(width, at(tasks.start_us[i]! + tasks.duration_us[i]!));
      const fill = colour(kindToken(tasks.kind[i]!));
      // Low: a receive lasts until its sender is ready, so most of it is waiting.
      const low = tasks.kind[i] === "send" || tasks.kind[i] === "receive";
      surface.rect(x1, low ? lane.top + lane.tasks - kTransfer : lane.top, Math.max(0.5, x2 - x1 - 0.5), low ? kTransfer : lane.tasks, fill);
      if (x2 - x1 < 14 || low) continue;
      const batch = tasks.micro_batch[i]!;
      const text = batch >= 0 ? String(batch) : words(tasks.kind[i]!);
      surface.text(text, (x1 + x2) / 2, lane.top + lane.tasks / 2, inkOn(fill), { size: 11, anchor: "middle", limit: x2 - x1 - 2 });
    }
  }

  private kernels(surface: Surface, lane: Lane, view: Window, at: (time: number) => number, left: number, width: number): void {
    const kernels = lane.rank.kernels!;
    const [known_from, known_to] = kernels.window_us;
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
      surface.text("kernels not in this report", (x1 + x2) / 2, lane.streams[0]!.top + kStream / 2, colour("muted"), { size: 10, anchor: "middle" });
    };
    if (known_to < view.to && known_to < 1e6 * this.timeline.step_s * 0.999) blank(Math.max(known_to, view.from), view.to);
    if (known_from > view.from) blank(view.from, Math.min(known_from, view.to));
  }

  /** What lies at a place of the picture. */
  find(x: number, y: number, width: number, view: Window): { title: string; lines: [string, string][]; from: number; to: number } | undefined {
    const left = labelWidth(width);
    if (x < left) return undefined;
    const time = view.from + ((x - left) / (width - left)) * (view.to - view.from);
    const lane = this.lanes.find((one) => y >= one.top && y <= one.bottom);
    if (!lane) return undefined;
    const where = lane.stages ? `rank ${lane.rank.rank}, stage ${lane.rank.stage}` : `rank ${lane.rank.rank}`;
    if (y < lane.top + lane.tasks && lane.rank.tasks) {
      const t = lane.rank.tasks;
      const i = firstBehind(t.start_us, t.duration_us, time);
      if (i >= t.start_us.length || t.start_us[i]! > time) return { title: "waiting", lines: [["where", where]], from: time, to: time };
      const batch: [string, string][] = t.micro_batch[i]! >= 0 ? [["micro batch", String(t.micro_batch[i])]] : [];
      return { title: words(t.kind[i]!), lines: [["where", where], ...batch, ["chunk", String(t.chunk[i])], ...times(t.start_us[i]!, t.duration_us[i]!)],
        from: t.start_us[i]!, to: t.start_us[i]! + t.duration_us[i]! };
    }
    return this.kernelAt(lane, y, time, where);
  }

  private kernelAt(lane: Lane, y: number, time: number, where: string): ReturnType<TimelinePainter["find"]> {
    const k = lane.rank.kernels;
    const stream = lane.streams.find((one) => y >= one.top && y < one.top + kStream)?.stream;
    if (!k || stream === undefined) return undefined;
    for (let i = 0; i < k.start_us.length; ++i) {
      const [start, duration] = [k.start_us[i]!, k.duration_us[i]!];
      if (k.stream[i] !== stream || start > time || start + duration < time) continue;
      const layer: [string, string][] = k.layer[i]! >= 0 ? [["layer", String(k.layer[i])]] : [];
      const batch: [string, string][] = k.micro_batch[i]! >= 0 ? [["micro batch", String(k.micro_batch[i])]] : [];
      return { title: this.timeline.names[k.name[i]!]!, from: start, to: start + duration,
        lines: [["where", `${where}, ${this.timeline.streams[stream]}`], ["category", words(this.timeline.categories[k.category[i]!]!)], ...batch, ...layer, ...times(start, duration)] };
    }
    return undefined;
  }
}

const times = (start: number, duration: number): [string, string][] => [["starts", quantity(start / 1e6, "s")], ["takes", quantity(duration / 1e6, "s")]];
/** "sm90_... [qkv]" is "qkv": what it does says more than which kernel does it. */
const shortName = (name: string): string => /\[([^\]]+)\]$/.exec(name)?.[1] ?? name;
