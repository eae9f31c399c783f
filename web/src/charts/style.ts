import type { Figure } from "../document";
import { kindToken, type Token } from "../base/theme";

/** How a series looks: things that belong together share a colour, and differ in how strong or how dashed they are. */
export interface SeriesStyle {
  token: Token;
  /** What the colour stands for. */
  stem: string;
  /** 0 is drawn in full. */
  variant: number;
  variantTitle: string;
  /** Which sign marks its values. */
  shape: number;
}
/** By the series' label. */
export type Styles = Map<string, SeriesStyle>;

/** "base, mean", "base, peak", "cc, mean", "cc, peak": two things, each seen twice; beside them perhaps "base" and "cc". */
function paired(labels: string[]): Map<string, [string, string]> | undefined {
  const cut = labels.filter((label) => label.includes(", ")).map((label): [string, string] => [label.slice(0, label.lastIndexOf(", ")), label.slice(label.lastIndexOf(", ") + 2)]);
  const [stems, variants] = [new Set(cut.map(([stem]) => stem)), new Set(cut.map(([, variant]) => variant))];
  const whole = stems.size > 1 && variants.size <= 2 && stems.size * variants.size === cut.length;
  if (!whole || !labels.every((label) => label.includes(", ") || stems.has(label))) return undefined;
  return new Map([...cut.map(([stem, variant]): [string, [string, string]] => [`${stem}, ${variant}`, [stem, variant]]), ...[...stems].map((stem): [string, [string, string]] => [stem, [stem, ""]])]);
}

/** Of all panels together, so that a colour means the same in each. */
export function stylesOf(panels: Figure[]): Styles {
  const all = [...new Set(panels.flatMap((panel) => panel.series.map((series) => series.label)))];
  // What has no name comes last: it must not take the colour of something that has one.
  const labels = [...all.filter((label) => label !== ""), ...all.filter((label) => label === "")];
  const pairs = paired(labels);
  if (!pairs) return new Map(labels.map((label, i) => [label, { token: kindToken(label, i), stem: label, variant: 0, variantTitle: "", shape: i }]));
  const own = labels.map((label) => pairs.get(label)!);
  const stems = [...new Set(own.map(([stem]) => stem))];
  const variants = [...new Set(own.map(([, variant]) => variant).filter(Boolean))];
  return new Map(labels.map((label, i) => {
    const [stem, variant] = own[i]!;
    return [label, { token: kindToken(stem, stems.indexOf(stem)), stem, variant: Math.max(0, variants.indexOf(variant)), variantTitle: variant, shape: i }];
  }));
}

/** What stands above a figure's panels: colours, and what full and pale or dashed mean. */
export function legendOf(panels: Figure[]): { entries: { title: string; token: Token }[]; variants: string } {
  const styles = stylesOf(panels);
  const titles = [...new Set([...styles.values()].filter((style) => style.variantTitle !== "").sort((a, b) => a.variant - b.variant).map((style) => style.variantTitle))];
  const entries = new Map([...styles].map(([label, style]) => [titles.length === 2 ? style.stem : label, style.token]));
  entries.delete("");
  const [first, second] = panels[0]!.kind === "line" ? ["Solid", "dashed"] : panels[0]!.kind === "scatter" ? ["Filled", "pale"] : ["Full colour", "pale"];
  return { entries: [...entries].map(([title, token]) => ({ title, token })), variants: titles.length === 2 ? `${first}: ${titles[0]}; ${second}: ${titles[1]}.` : "" };
}
