import type { Finding } from "../document";
import { copyButton } from "../base/copy";
import { h } from "../base/dom";
import { quantity, words } from "../base/format";
import { css } from "../base/theme";

/** The command that a check begins with; of checks that are none, nothing. */
export const commandOf = (check: string): string | undefined => /^ergometer .*?(?=: |; |$)/.exec(check)?.[0];

function checkLine(check: string): HTMLElement {
  const command = commandOf(check);
  return h("p", { class: "check" }, h("span", { class: "muted" }, "Check: "), h("code", {}, check), command ? " " : null, command ? copyButton(command, `the command ${command}`) : null);
}

/** Ranked by what they cost; those whose cost is unknown stay behind, in the document's order. */
export const ranked = (findings: Finding[]): Finding[] =>
  findings.map((finding, i) => ({ finding, i })).sort((a, b) => (b.finding.cost_s ?? -1) - (a.finding.cost_s ?? -1) || (b.finding.fraction ?? -1) - (a.finding.fraction ?? -1) || a.i - b.i).map(({ finding }) => finding);

export function findingsView(findings: Finding[], step_s: number | undefined): HTMLElement | null {
  if (findings.length === 0) return null;
  return h("ol", { class: "findings" }, ...ranked(findings).map((finding) => {
    const told = finding.cost_s !== undefined && step_s ? finding.cost_s / step_s : finding.fraction;
    const share = told === undefined || told <= 0 ? undefined : Math.min(1, told);
    const cost = [finding.cost_s === undefined ? "" : `${quantity(finding.cost_s, "s")} a step`, finding.cost_j === undefined ? "" : quantity(finding.cost_j, "J") + (finding.cost_j_error_pct === undefined ? "" : ` ±${finding.cost_j_error_pct.toFixed(1)} %`)].filter(Boolean);
    if (cost.length === 0 && share !== undefined) cost.push(`${quantity(share, "1")} of the time`);
    return h("li", { "data-name": finding.name },
      h("div", { class: "cost" }, cost.length > 0 ? h("b", {}, cost[0]!) : h("span", { class: "muted" }, "cost unknown"), cost[1] ? h("span", { class: "muted" }, cost[1]) : null,
        share === undefined ? null : h("span", { class: "meter", title: `${quantity(share, "1")} of the step` }, h("i", { style: `width:${(100 * share).toFixed(1)}%;background:${css("allreduce")}` }))),
      h("div", {}, h("p", {}, finding.text, finding.confidence ? h("span", { class: "muted" }, ` (${words(finding.confidence)})`) : null), finding.advice ? h("p", { class: "advice" }, finding.advice) : null,
        finding.check ? checkLine(finding.check) : null));
  }));
}
