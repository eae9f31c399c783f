/** Colours for values: even steps of lightness, so that order shows without seeing colours. */
const kRamps = {
  // Dark to light through violet, red, orange: after matplotlib's "inferno" without its black and pale ends.
  heat: ["#2b0b57", "#57106e", "#88226a", "#b63758", "#de5238", "#f67e14", "#fcb216", "#f5e663"],
  // After matplotlib's "viridis".
  plain: ["#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725"],
};
export type RampName = keyof typeof kRamps;

const hex = (value: number): string => Math.round(value).toString(16).padStart(2, "0");

/** `share` from 0 to 1 to #rrggbb. */
export function ramp(name: RampName, share: number): string {
  const stops = kRamps[name];
  const place = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(place));
  const [from, to] = [stops[low]!, stops[low + 1]!];
  const mixed = [1, 3, 5].map((at) => {
    const [a, b] = [parseInt(from.slice(at, at + 2), 16), parseInt(to.slice(at, at + 2), 16)];
    return hex(a + (b - a) * (place - low));
  });
  return `#${mixed.join("")}`;
}

/** Where a value lies in a range; 0.5 where the range is a point. */
export const shareOf = (value: number, [low, high]: [number, number]): number => (high > low ? (value - low) / (high - low) : 0.5);
