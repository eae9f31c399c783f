/** A scale from values to pixels, with its ticks. */
export interface Scale {
  at(value: number): number;
  ticks: number[];
  domain: [number, number];
}

/** Lowest and highest of the values that are known. */
export function extent(values: (number | null | undefined)[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === null || value === undefined || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? [low, high] : [0, 1];
}

/** Steps of 1, 2 or 5 times a power of ten; of bytes, of the binary unit that fits the span. */
function step(span: number, count: number, unit = ""): number {
  const grain = unit === "bytes" ? 2 ** (10 * Math.max(0, Math.floor(Math.log2(Math.max(1, span)) / 10))) : 1;
  const raw = span / grain / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  return (raw / power > 5 ? 10 : raw / power > 2 ? 5 : raw / power > 1 ? 2 : 1) * power * grain;
}

/** Round values in [low, high], about `count` of them. */
export function ticksIn(low: number, high: number, count: number, unit = ""): number[] {
  return same(low, high) ? [low] : multiples(low, high, step(high - low, count, unit));
}

function multiples(low: number, high: number, by: number): number[] {
  const ticks: number[] = [];
  for (let i = Math.ceil(low / by - 1e-9); i * by <= high + by * 1e-9; ++i) ticks.push(i === 0 ? 0 : i * by);
  return ticks;
}

/** Apart by no more than rounding: an axis between them would have no ticks to tell. */
const same = (low: number, high: number): boolean => !(high - low > 1e-9 * Math.max(Math.abs(low), Math.abs(high)));

/** What reaches beyond a tick by less than this share of a step, less than a pixel, needs no further tick. */
const kBeyond = 0.02;

/** Widened to round values at both ends. */
export function linear(low: number, high: number, from: number, to: number, count: number, unit = "", exact = false): Scale {
  if (same(low, high)) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) * 0.1, low + Math.abs(low) * 0.1];
  const by = step(high - low, count, unit);
  const domain: [number, number] = exact ? [low, high] : [Math.floor(low / by + kBeyond) * by, Math.ceil(high / by - kBeyond) * by];
  return { at: (value) => from + ((value - domain[0]) / (domain[1] - domain[0])) * (to - from), ticks: multiples(domain[0], domain[1], by), domain };
}

/** 1, 2 and 5 of every power of ten, or of more than four powers the powers alone, from the last below `low` to the first above `high`. */
function powersAround(low: number, high: number): number[] {
  const digits = Math.log10(high / low) > 4 ? [1] : [1, 2, 5];
  const all: number[] = [];
  for (let power = Math.floor(Math.log10(low) - 1e-9); power <= Math.log10(high) + 1; ++power) all.push(...digits.map((digit) => digit * 10 ** power));
  const first = all.filter((tick) => tick <= low * (1 + 1e-9)).length - 1;
  const last = all.findIndex((tick) => tick >= high * (1 - 1e-9));
  return all.slice(first, last + 1);
}

/** Ticks at the values themselves where these are few and whole, else at round ones, which it then ends at. */
export function logarithmic(low: number, high: number, from: number, to: number, values: number[] = []): Scale {
  const own = [...new Set(values)].sort((x, y) => x - y);
  const few = own.length > 0 && own.length <= 12 && own.every(Number.isInteger);
  const ticks = few ? own : powersAround(low, high);
  const [first, last] = few ? [low, high] : [ticks[0]!, ticks[ticks.length - 1]!];
  const domain: [number, number] = last > first ? [first, last] : [first / 2, first * 2];
  const [a, b] = [Math.log(domain[0]), Math.log(domain[1])];
  return { at: (value) => from + ((Math.log(value) - a) / (b - a)) * (to - from), ticks, domain };
}
