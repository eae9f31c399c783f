import type { Summary, WhatIfDocument } from "../document";
import { quantity, words } from "../base/format";
import { numberIn } from "./metrics";

type Ladder = WhatIfDocument["ladders"][number];

/** "tensor parallel", "micro batch size". */
export const ladderTitle = (ladder: Ladder): string => (words(ladder.word) === ladder.word ? words(ladder.name) : words(ladder.word));

const isNumber = (text: string): boolean => text !== "" && Number.isFinite(Number(text));
export const isNumeric = (ladder: Ladder): boolean => ladder.values.every(isNumber);

/** "8", "600 W", "selective". */
export function valueWords(ladder: Ladder, position: number): string {
  const value = ladder.values[position]!;
  return isNumber(value) ? quantity(Number(value), ladder.unit === "C" ? "°C" : (ladder.unit ?? "")) : value;
}

/** The job's numbers in the groups of a summary. */
export function summaryOf(whatIf: WhatIfDocument, job: number): Summary {
  const groups: Record<string, Record<string, number | null>> = {};
  for (const [path, column] of Object.entries(whatIf.numbers)) {
    const [group = "", name = ""] = path.split(".");
    (groups[group] ??= {})[name] = column[job] ?? null;
  }
  return { source: "simulated", ...groups };
}

/** Bytes of the fullest GPU that are left, below 0: that are missing. */
export function freeBytes(summary: Summary): number | undefined {
  const [peak, reserved, capacity] = ["peak_bytes", "reserved_bytes", "capacity_bytes"].map((name) => numberIn(summary, "memory", name));
  return peak === undefined || capacity === undefined ? undefined : capacity - peak - (reserved ?? 0);
}

/** The job at these positions, or the nearest to them that was played; where ladder `moved` stands counts most. */
export function nearest(whatIf: WhatIfDocument, wanted: number[], moved = -1): number {
  const away = (job: number): number => whatIf.at[job]!.reduce((sum, position, i) => sum + (i === moved ? 100 : 1) * Math.abs(position - wanted[i]!), 0);
  let best = 0;
  for (let job = 1; job < whatIf.at.length; ++job) if (away(job) < away(best)) best = job;
  return best;
}

/** Of those that surely fit, the one with the least of a number. */
export function least(whatIf: WhatIfDocument, path: string): number | undefined {
  const column = whatIf.numbers[path];
  if (!column) return undefined;
  const known = column.flatMap((value, job) => (value !== null && whatIf.fit[job] === "fits" ? [job] : []));
  return known.length > 0 ? known.reduce((a, b) => (column[b]! < column[a]! ? b : a)) : undefined;
}
