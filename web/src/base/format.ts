/** Numbers as people read them. Units are those of the document; "1" is a share shown in percent. */
const kPrefixes: [number, string][] = [
  [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"],
];
const kScaled: Record<string, [number, string]> = { "GB/s": [1e9, "B/s"], GB: [1e9, "B"], MJ: [1e6, "J"] };
const kWithPrefix = new Set(["s", "W", "J", "B", "B/s", "FLOP/s", "W/s", "Hz"]);

/** Made once for each number of decimals: making one takes longer than all else about a number. */
const kFormats = new Map<number, Intl.NumberFormat>();
function decimals(value: number, most: number): string {
  let format = kFormats.get(most);
  if (!format) kFormats.set(most, (format = new Intl.NumberFormat("en", { minimumFractionDigits: 0, maximumFractionDigits: most })));
  return format.format(value);
}

/** Three digits that count, no exponent: 8.33, 60.6, 505. */
export function digits(value: number, count = 3): string {
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  return decimals(value, Math.max(0, Math.min(12, count - 1 - size)));
}

function prefixed(value: number, unit: string): string {
  if (value === 0) return `0 ${unit}`;
  const size = Math.abs(value) * (1 + 1e-12);
  // Nobody counts in kiloseconds or millibytes.
  const allowed = kPrefixes.filter(([least]) => (unit !== "s" || least <= 1) && (unit[0] !== "B" || least >= 1));
  const [factor, prefix] = allowed.find(([least]) => size >= least) ?? allowed[allowed.length - 1]!;
  const shown = digits(value / factor);
  return shown === "0" || size < 1e-3 * factor ? `0 ${unit}` : `${shown} ${prefix}${unit}`;
}

/** "8.33 s", "505 kJ", "60.1 GiB", "43.1 %", "62,927 tokens/s". */
export function quantity(value: number | null | undefined, unit = ""): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value < 0) {
    const shown = quantity(-value, unit);
    return /^0(\.0)?( |$)/.test(shown) ? shown : `−${shown}`;
  }
  const scaled = kScaled[unit];
  if (scaled) return prefixed(value * scaled[0], scaled[1]);
  if (unit === "C") return quantity(value, "°C");
  if (unit === "1") return `${(100 * value).toFixed(1)} %`;
  if (unit === "bytes") return bytes(value);
  if (unit === "°C" || unit === "K") return `${value.toFixed(1)} ${unit}`;
  if (unit === "tokens/s" || unit === "MHz" || unit === "") {
    const shown = Math.abs(value) >= 100 ? decimals(Math.round(value), 0) : digits(value);
    return unit === "" ? shown : `${shown} ${unit}`;
  }
  return kWithPrefix.has(unit) ? prefixed(value, unit) : `${digits(value)} ${unit}`;
}

/** A moment as finely as a picture of `span_s` seconds can tell it: "1.7069 s" where one sees half a second. */
export function moment(time_s: number, span_s: number): string {
  const [factor, unit] = Math.max(Math.abs(time_s), span_s) < 1e-3 ? [1e6, "µs"] : Math.max(Math.abs(time_s), span_s) < 1 ? [1e3, "ms"] : [1, "s"];
  const decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10((span_s / 1000) * (factor as number)))));
  return `${(time_s * (factor as number)).toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })} ${unit}`;
}

/** "3.68 to 5.81 s"; both with their units where these differ. */
export function range([low, high]: [number, number], unit: string): string {
  const [from, to] = [quantity(low, unit), quantity(high, unit)];
  const own = from.indexOf(" ");
  return own > 0 && to.endsWith(from.slice(own)) && to.indexOf(" ") === to.length - (from.length - own) ? `${from.slice(0, own)} to ${to}` : `${from} to ${to}`;
}

/** Memory in binary units, as GPUs are sold and nvidia-smi counts. */
export function bytes(value: number): string {
  const units: [number, string][] = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
  const [factor, unit] = units.find(([least]) => Math.abs(value) >= least) ?? [1, "B"];
  return `${digits(value / factor)} ${unit}`;
}

/** "+12.5 %", "−3.0 %"; of a change from `from` to `to`. */
export function change(from: number, to: number): string {
  if (from === to) return "same";
  if (from === 0) return "new";
  return signed((to - from) / Math.abs(from), "1");
}

export function signed(value: number, unit: string): string {
  const shown = quantity(Math.abs(value), unit);
  return /^0(\.0)?( |$)/.test(shown) ? shown : `${value < 0 ? "−" : "+"}${shown}`;
}

/** Names of the document as people say them: "exposed_all_gather" is "all-gather". */
const kWords: Record<string, string> = {
  exposed_all_reduce: "all-reduce", exposed_all_gather: "all-gather", exposed_reduce_scatter: "reduce-scatter",
  exposed_all_to_all: "all-to-all", exposed_send_recv: "send/recv", send_recv: "send/recv",
  all_reduce: "all-reduce", all_gather: "all-gather", reduce_scatter: "reduce-scatter", all_to_all: "all-to-all",
  tp: "tensor parallel", dp: "data parallel", pp: "pipeline", cp: "context parallel", ep: "expert parallel", edp: "expert data parallel", world: "all ranks",
  backward_weight: "backward (weights)", gradient_norm: "gradient norm", host: "host, GPU stands still", gpu_c: "GPU temperature", nics: "NICs", gpus: "GPUs", hbm: "HBM", cpu: "CPU", dram: "DRAM",
};
export const words = (name: string): string => kWords[name] ?? name.replaceAll("_", " ");

export const plural = (count: number, word: string): string => `${decimals(count, 0)} ${word}${count === 1 ? "" : "s"}`;
