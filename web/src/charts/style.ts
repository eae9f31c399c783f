import type { Figure, FigureSeries } from "../document";
import { kindToken, type Token } from "../base/theme";

/** How a series looks: things that belong together share a colour, and differ in how strong or how dashed they are. */
export interface SeriesStyle {
  token: Token;
  /** What the colour stands for. */
  stem: string;
  /** 0 is drawn in full. */
  variant: number;
  variantTitle: string;
}

/** "base, mean", "base, peak", "cc, mean", "cc, peak": two things, each seen twice. */
function paired(labels: string[]): [string, string][] | undefined {
  const cut = labels.map((label): [string, string] => [label.slice(0, Math.max(0, label.lastIndexOf(", "))), label.slice(label.lastIndexOf(", ") + 2)]);
  const [stems, variants] = [new Set(cut.map(([stem]) => stem)), new Set(cut.map(([, variant]) => variant))];
  return !stems.has("") && stems.size > 1 && variants.size <= 2 && stems.size * variants.size === labels.length ? cut : undefined;
}

export function stylesOf(series: FigureSeries[]): SeriesStyle[] {
  const pairs = paired(series.map((one) => one.label));
  if (!pairs) return series.map((one, i) => ({ token: kindToken(one.label, i), stem: one.label, variant: 0, variantTitle: "" }));
  const stems = [...new Set(pairs.map(([stem]) => stem))];
  const variants = [...new Set(pairs.map(([, variant]) => variant))];
  return pairs.map(([stem, variant]) => ({ token: kindToken(stem, stems.indexOf(stem)), stem, variant: variants.indexOf(variant), variantTitle: variant }));
}

/** What stands above a figure's panels: colours, and what full and pale or dashed mean. */
export function legendOf(panels: Figure[]): { entries: { title: string; token: Token }[]; variants: string } {
  const styles = panels.flatMap((panel) => stylesOf(panel.series).map((style, i) => ({ ...style, label: panel.series[i]!.label })));
  const titles = [...new Set(styles.filter((style) => style.variantTitle !== "").sort((a, b) => a.variant - b.variant).map((style) => style.variantTitle))];
  const entries = new Map(styles.map((style) => [titles.length === 2 ? style.stem : style.label, style.token]));
  entries.delete("");
  const [first, second] = panels[0]!.kind === "line" ? ["Solid", "dashed"] : panels[0]!.kind === "scatter" ? ["Filled", "pale"] : ["Full colour", "pale"];
  return { entries: [...entries].map(([title, token]) => ({ title, token })), variants: titles.length === 2 ? `${first}: ${titles[0]}; ${second}: ${titles[1]}.` : "" };
}
