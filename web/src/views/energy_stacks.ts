import type { EnergyStacks } from "../document";
import { choice } from "../base/dom";
import { quantity, words } from "../base/format";
import { kindToken } from "../base/theme";
import { beside, flame, frameAt, framesOf, type Frame } from "../charts/flame";
import { legend } from "../parts/legend";
import { picture, redraw } from "../parts/picture";
import type { Cell, TableData } from "../parts/table";

type What = "joules" | "seconds";
const kUnits: Record<What, string> = { joules: "J", seconds: "s" };
const kNames: Record<What, string> = { joules: "energy", seconds: "time" };

/** Stages stay in order; what they do stands by size. */
const inOrder = (depth: number): boolean => depth < 1;
const phaseOf = (frame: Frame): string => frame.path.split(";")[1] ?? "other";
const nameOf = (frame: Frame): string => (frame.path === "" ? frame.name : words(frame.name));

/** Phases that are communication have the colour of it. */
const kPhaseKinds: Record<string, string> = {
  gradient_reduction: "reduce_scatter", parameter_gather: "all_gather", gradient_norm: "all_reduce", pipeline_transfer: "send_recv", weight: "backward_weight", recompute: "attention",
};
const tokenOf = (frame: Frame) => (frame.path.includes(";") ? kindToken(kPhaseKinds[phaseOf(frame)] ?? phaseOf(frame)) : "raised");

/** Where a step's joules and seconds go, from stages down to operators; beside another job, what has changed. */
export function energyStacksView(stacks: EnergyStacks, other?: { name: string; stacks: EnergyStacks }): HTMLElement {
  let what: What = "joules";
  let focus = "";
  let place: HTMLElement | undefined;
  const rootOf = (of: EnergyStacks): Frame => framesOf(of.stack, of[what], "step", inOrder);
  const frames = (): Frame => {
    const root = rootOf(stacks);
    if (other) beside(root, rootOf(other.stacks));
    return root;
  };
  const again = (): void => void (place && redraw(place));
  const by = choice("Width", (["joules", "seconds"] as const).map((value) => ({ value, title: kNames[value] })), what, (value) => {
    what = value as What;
    again();
  });
  const tableOf = (): TableData => {
    const before = other ? new Map(other.stacks.stack.map((stack, i) => [stack, i])) : undefined;
    const of = (name: What, i: number | undefined): number | null => (i === undefined ? null : other!.stacks[name][i]!);
    return { columns: [{ title: "where", wide: true }, { title: "energy", unit: "J" }, { title: "time", unit: "s" }, ...(other ? [{ title: `energy, ${other.name}`, unit: "J" }, { title: `time, ${other.name}`, unit: "s" }] : [])],
      rows: stacks.stack.map((stack, i): Cell[] => [stack.split(";").map((name) => words(name)).join(" / "), stacks.joules[i]!, stacks.seconds[i]!,
        ...(before ? [of("joules", before.get(stack)), of("seconds", before.get(stack))] : [])]) };
  };
  const root = frames();
  const phases = [...new Set(stacks.stack.map((stack) => stack.split(";")[1]!))];
  const largest = [...root.children.flatMap((stage) => stage.children)].sort((a, b) => b.value - a.value)[0];
  return picture({
    title: other ? `Where the joules go, beside ${other.name}` : "Where the joules go",
    note: `${other ? `Width: this job. Green: less than ${other.name}, red: more; full colour at a change by half. ` : "Energy of all GPUs in a step by stage, phase, part of the model and operator. "}Click a part to open it, the step to see all.`,
    summary: `${quantity(root.value, "J")} a step.${largest ? ` The largest part is ${largest.path.split(";").map((name) => words(name)).join(", ")} with ${quantity(largest.value, "J")}.` : ""}`,
    controls: [by], table: tableOf, active: true,
    draw: (host, width) => {
      place = host;
      const now = frames();
      const open = (path: string): void => {
        // What is open already gives way to what it lies in.
        focus = path === focus ? frameAt(now, path).slice(-2)[0]!.path : path;
        again();
        host.querySelector<SVGElement>(`[data-path="${CSS.escape(focus)}"]`)?.focus();
      };
      host.replaceChildren(...(other ? [] : [legend(phases.map((phase) => ({ title: words(phase), token: kindToken(kPhaseKinds[phase] ?? phase) })))]),
        flame(now, width, { unit: kUnits[what], token: tokenOf, title: nameOf, focus, open }));
    },
  });
}
