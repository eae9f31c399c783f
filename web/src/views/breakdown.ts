import type { RankColumns, Summary } from "../document";
import { quantity, words } from "../base/format";
import { h } from "../base/dom";
import { kindToken } from "../base/theme";
import { stackedBars, type StackRow } from "../charts/stacks";
import { legend } from "../parts/legend";
import { picture } from "../parts/picture";
import type { TableData } from "../parts/table";
import { inWords } from "./headline";
import { numberIn, partsOf } from "./metrics";

export interface Breakdown {
  label: string;
  parts: [string, number][];
  low?: number;
  high?: number;
  href?: string;
}

/** The mean over the ranks of every stage: where stages differ, work is divided badly. */
export function byStage(ranks: RankColumns): Breakdown[] {
  if (!ranks.breakdown_s) return [];
  const stages = [...new Set(ranks.stage)].sort((a, b) => a - b);
  if (stages.length < 2) return [];
  return stages.map((stage) => {
    const members = ranks.stage.flatMap((of, i) => (of === stage ? [i] : []));
    const parts = Object.entries(ranks.breakdown_s!).map(([name, values]): [string, number] =>
      [name, members.reduce((sum, i) => sum + values[i]!, 0) / members.length]);
    return { label: `stage ${stage}`, parts: parts.filter(([, value]) => value > 0) };
  });
}

function tableOf(rows: Breakdown[]): TableData {
  const names = [...new Set(rows.flatMap((row) => row.parts.map(([name]) => name)))];
  const flat = rows.length === 1;
  if (flat) {
    const sum = rows[0]!.parts.reduce((total, [, value]) => total + value, 0);
    return { columns: [{ title: "part" }, { title: "time", unit: "s" }, { title: "share", unit: "1" }],
      rows: rows[0]!.parts.map(([name, value]) => [words(name), value, value / sum]) };
  }
  return { columns: [{ title: "of" }, ...names.map((name) => ({ title: words(name), unit: "s" })), { title: "sum", unit: "s" }],
    rows: rows.map((row) => {
      const values = names.map((name) => row.parts.find(([own]) => own === name)?.[1] ?? 0);
      return [row.label, ...values, values.reduce((sum, value) => sum + value, 0)];
    }) };
}

/** Bars of breakdowns under each other, with a legend. */
export function breakdownPicture(title: string, note: string, rows: Breakdown[]): HTMLElement {
  const names = [...new Set(rows.flatMap((row) => row.parts.map(([name]) => name)))];
  const bars = rows.map((row): StackRow => ({ ...row, parts: row.parts.map(([name, value], i) => ({ title: words(name), token: kindToken(name, i), value })) }));
  return picture({
    title, note,
    summary: rows.map((row) => `${row.label}: ${inWords(row.parts, "s")}`).join(". "),
    table: tableOf(rows), active: rows.some((row) => row.href !== undefined),
    draw: (host, width) => host.replaceChildren(legend(names.map((name, i) => ({ title: words(name), token: kindToken(name, i) }))),
      stackedBars(bars, width, { unit: "s", shares: true })),
  });
}

export function breakdownView(summary: Summary, ranks: RankColumns | undefined): HTMLElement | null {
  const parts = partsOf(summary.performance?.breakdown_s);
  if (parts.length === 0) return null;
  const stages = ranks ? byStage(ranks) : [];
  const all: Breakdown = { label: "all ranks", parts };
  const [low, high] = [numberIn(summary, "performance", "step_time_s_low"), numberIn(summary, "performance", "step_time_s_high")];
  if (low !== undefined && high !== undefined) Object.assign(all, { low, high });
  const biggest = [...parts].filter(([name]) => name !== "compute").sort((a, b) => b[1] - a[1])[0];
  const note = biggest
    ? `Mean over ranks; of communication, the part that nothing hides. The largest part that is not compute is ${words(biggest[0])}, ${quantity(biggest[1], "s")} a step.`
    : "Mean over ranks.";
  return h("div", {}, breakdownPicture("Where the step goes", note, [all]), stages.length > 0
    ? breakdownPicture("By pipeline stage", "The stage that computes longest sets the pace; the others wait for it.", stages) : null);
}
