/** A scale from values to pixels, with its ticks. */
export interface Scale {
  at(value: number): number;
  ticks: number[];
  domain: [number, number];
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
  if (!(high > low)) return [low];
  const by = step(high - low, count, unit);
  const ticks: number[] = [];
  for (let i = Math.ceil(low / by - 1e-9); i * by <= high + by * 1e-9; ++i) ticks.push(i === 0 ? 0 : i * by);
  return ticks;
}

/** Widened to round values at both ends. */
export function linear(low: number, high: number, from: number, to: number, count: number, unit = "", exact = false): Scale {
  if (!(high > low)) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) * 0.1, low + Math.abs(low) * 0.1];
  const by = step(high - low, count, unit);
  const domain: [number, number] = exact ? [low, high] : [Math.floor(low / by + 1e-9) * by, Math.ceil(high / by - 1e-9) * by];
  return { at: (value) => from + ((value - domain[0]) / (domain[1] - domain[0])) * (to - from), ticks: ticksIn(domain[0], domain[1], count, unit), domain };
}

/** Ticks at 1, 2 and 5 of every power of ten while they are few, at the values themselves where these are few and whole. */
export function logarithmic(low: number, high: number, from: number, to: number, values: number[] = []): Scale {
  const [a, b] = high > low ? [Math.log(low), Math.log(high)] : [Math.log(low / 2), Math.log(low * 2)];
  const at = (value: number): number => from + ((Math.log(value) - a) / (b - a)) * (to - from);
  const own = [...new Set(values)].sort((x, y) => x - y);
  const ticks: number[] = [];
  if (own.length > 0 && own.length <= 12 && own.every(Number.isInteger)) {
    ticks.push(...own);
  } else {
    const decades = (b - a) / Math.LN10;
    for (let power = Math.floor(a / Math.LN10); power <= b / Math.LN10 + 1; ++power) {
      for (const digit of decades > 4 ? [1] : [1, 2, 5]) {
        const value = digit * 10 ** power;
        if (Math.log(value) >= a - 1e-9 && Math.log(value) <= b + 1e-9) ticks.push(value);
      }
    }
  }
  return { at, ticks, domain: [Math.exp(a), Math.exp(b)] };
}
