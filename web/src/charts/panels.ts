import type { Figure } from "../document";
import { extent } from "./scale";
import { stylesOf, type Styles } from "./style";

/** What a panel has in common with the others of its figure. */
export interface Shared {
  x: [number, number];
  /** All values on x of the panels that share it. */
  marks: number[];
  y: [number, number];
  styles: Styles;
  /** Bars that would all be about as high: signs on an axis that need not start at zero tell them apart. */
  dots: boolean;
  /** Some panel of the same quantity has another scale. */
  apart: boolean;
}

/** How far one panel may lie below another on the same scale, so that its values can still be told apart. */
const kFlat = 3;
/** Lowest over highest above which bars from zero are all alike. */
const kAlike = 0.75;

function sums(figure: Figure): number[] {
  const made = new Array<number>(figure.x.categories?.length ?? 0).fill(0);
  for (const series of figure.series) series.x.forEach((x, i) => { made[x]! += Math.max(0, series.y[i] ?? 0); });
  return made;
}

function valuesY(figure: Figure): (number | null | undefined)[] {
  if (figure.kind === "stack") return sums(figure);
  if (figure.kind === "heat-map") return figure.series.flatMap((series) => series.value ?? []);
  return figure.series.flatMap((series) => [...series.y, ...(series.low ?? []), ...(series.high ?? [])]);
}

const quantityY = (figure: Figure): string =>
  [figure.y.title, figure.y.unit, ...(figure.kind === "heat-map" ? figure.series.map((series) => series.label) : [])].join("|");
const quantityX = (figure: Figure): string => `${figure.x.title}|${figure.x.unit}`;

/** How much of an axis a range takes: of a logarithmic one in powers, of others its top. */
const sizeOf = ([low, high]: [number, number], log: boolean): number => (log && low > 0 ? Math.log(high / low) : Math.max(Math.abs(low), Math.abs(high)));

/** The panels that one scale serves together with `figure`, which is one of them. */
function together(figure: Figure, panels: Figure[], rangeOf: (panel: Figure) => [number, number], log: boolean): Figure[] {
  let [set, top]: [Figure[], number] = [[], 0];
  const sized = panels.map((panel) => ({ panel, size: sizeOf(rangeOf(panel), log) })).sort((a, b) => b.size - a.size);
  for (const { panel, size } of sized) {
    if (set.length === 0 || size * kFlat < top) {
      if (set.includes(figure)) break;
      [set, top] = [[], size];
    }
    set.push(panel);
  }
  return panels.filter((panel) => set.includes(panel));
}

/** Colours tell cells of a panel apart: panels share them while each spreads over enough of them. */
function colouredAlike(figure: Figure, alike: Figure[]): Figure[] {
  const spread = (panels: Figure[]): number => { const [low, high] = extent(panels.flatMap(valuesY)); return high - low; };
  return alike.every((panel) => spread([panel]) * kFlat >= spread(alike)) ? alike : [figure];
}

/** Panels of one quantity have one scale, unless that flattens the smaller ones; a series looks the same in all. */
export function sharedBy(figure: Figure, panels: Figure[]): Shared {
  const styles = stylesOf(panels);
  const alike = panels.filter((panel) => quantityY(panel) === quantityY(figure));
  const [logX, logY] = [figure.x.log === true, figure.y.log === true];
  const valuesX = (panel: Figure): number[] => panel.series.flatMap((series) => series.x);
  const rangeY = (panel: Figure): [number, number] => extent(valuesY(panel));
  const beside = together(figure, panels.filter((panel) => quantityX(panel) === quantityX(figure)), (panel) => extent(valuesX(panel)), logX);
  const marks = beside.flatMap(valuesX);
  const set = figure.kind === "heat-map" ? colouredAlike(figure, alike) : together(figure, alike, rangeY, logY);
  const y = extent(set.flatMap(valuesY));
  const dots = figure.kind === "bar" && !logY && y[0] >= kAlike * y[1] && y[0] < 0.99 * y[1];
  // From zero, unless that would flatten everything at the top: in no panel, or in all that are compared.
  const grounded = alike.some((panel) => rangeY(panel)[0] >= 0 && rangeY(panel)[0] < 0.5 * rangeY(panel)[1]);
  const zero = figure.kind === "stack" || (figure.kind !== "heat-map" && !logY && y[0] >= 0 && (grounded || (figure.kind === "bar" && !dots)));
  return { x: extent(marks), marks, y: zero ? [0, y[1]] : y, styles, dots, apart: set.length < alike.length };
}
