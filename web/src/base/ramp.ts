import { mixed, theme } from "./theme";

/** Colours for values: even steps of lightness, so that order shows without seeing colours. */
const kLight = {
  // Dark to light through violet, red, orange: after matplotlib's "inferno" without its black and pale ends.
  heat: ["#2b0b57", "#57106e", "#88226a", "#b63758", "#de5238", "#f67e14", "#fcb216", "#f5e663"],
  // After matplotlib's "viridis".
  plain: ["#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725"],
};
/** The same hues, none of them darker than what reads on a dark page. */
const kDark: typeof kLight = {
  heat: ["#6f63c9", "#9a5cc0", "#c4589f", "#e0607a", "#ef7a55", "#f79a3e", "#fbbf45", "#f7ea7e"],
  plain: ["#6b6fc4", "#5f84c8", "#4f9ac4", "#45adb5", "#4bbf9c", "#6fd07f", "#aee05f", "#fdee6b"],
};
export type RampName = keyof typeof kLight;

/** `share` from 0 to 1 to #rrggbb. */
export function ramp(name: RampName, share: number): string {
  const stops = (theme() === "dark" ? kDark : kLight)[name];
  const place = Math.min(1, Math.max(0, share)) * (stops.length - 1);
  const low = Math.min(stops.length - 2, Math.floor(place));
  return mixed(stops[low]!, stops[low + 1]!, place - low);
}

/** Where a value lies in a range; 0.5 where the range is a point. */
export const shareOf = (value: number, [low, high]: [number, number]): number => (high > low ? (value - low) / (high - low) : 0.5);
