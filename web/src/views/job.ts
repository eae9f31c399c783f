import type { RunDocument, WhatIfDocument } from "../document";
import { h } from "../base/dom";
import { quantity, words } from "../base/format";
import { seriesToken } from "../base/theme";
import { stackedBars } from "../charts/stacks";
import { legend } from "../parts/legend";
import { Moment } from "../parts/moment";
import { picture } from "../parts/picture";
import { Player } from "../parts/player";
import { againstPredictionView } from "./against_prediction";
import { assumptionsView } from "./assumptions";
import { breakdownView } from "./breakdown";
import { energyStacksView } from "./energy_stacks";
import { findingsView } from "./findings";
import { headline, inWords } from "./headline";
import { jobTitle } from "./job_words";
import { documentsView } from "./documents";
import { expertsView } from "./experts";
import { gpuKindsView } from "./gpu_kinds";
import { linksView } from "./links";
import { machineView } from "./machine";
import { memoryView } from "./memory";
import { jobLine, numberIn, partsOf } from "./metrics";
import { oddView, pathView, waitsView } from "./recorded_job";
import { marksView, missingView, readingsView, whoView } from "./recorded_log";
import { energyByKernelView } from "./recorded_energy";
import { kernelsView, operatorsView, ranksView, taxesView } from "./recorded_trace";
import { seriesView } from "./series";
import type { Section } from "./sections";
import { timelineView } from "./timeline";
import { whatIfView } from "./what_if";

const kSources: Record<string, string> = { simulated: "predicted", recorded: "recorded", imported: "imported" };

/** What the watts go into: of a GPU, and of a node at its plug. */
function powerParts(run: RunDocument): HTMLElement | null {
  const rows = ([["gpu_parts_w", "one GPU, mean"], ["node_parts_w", "one node, at the plug"]] as const).flatMap(([name, title]) => {
    const parts = partsOf(run.summary.power?.[name]);
    return parts.length > 0 ? [{ title, parts }] : [];
  });
  if (rows.length === 0) return null;
  return h("div", {}, ...rows.map(({ title, parts }) => picture({
    title: `Where the power goes: ${title}`, summary: inWords(parts, "W"),
    table: { columns: [{ title: "part" }, { title: "power", unit: "W" }], rows: parts.map(([name, value]) => [words(name), value]) },
    draw: (host, width) => host.replaceChildren(legend(parts.map(([name], i) => ({ title: words(name), token: seriesToken(i) }))),
      stackedBars([{ label: title, parts: parts.map(([name, value], i) => ({ title: words(name), token: seriesToken(i), value })) }], width, { unit: "W" })),
  })));
}

/** What moves with one moment: a prediction's step and all over it; of a recording, whose timeline has a clock of its own, its readings, or else the timeline. */
function clockOf(run: RunDocument): { moment: Moment; timeline: boolean; any: boolean } {
  const { series, timeline } = run;
  const last = Math.max(0, series?.time_s[series.time_s.length - 1] ?? 0, series?.cluster_power?.time_s[series.cluster_power.time_s.length - 1] ?? 0);
  const one = run.summary.source === "simulated" || last === 0;
  const step = timeline?.step_s ?? 0;
  const end = one ? Math.max(step, last) : last;
  return { moment: new Moment(`run=${encodeURIComponent(run.name)}`, end, one && step > 0 ? step : end), timeline: one && step > 0, any: end > 0 };
}

/** Sections that show a moment. */
const kMoving = new Set(["timeline", "power", "machine"]);

/** Everything that is known of one job, what matters first. `alone`: nothing stands beside it that its name tells it from. */
export function jobSections(run: RunDocument, alone = false, whatIf?: WhatIfDocument): Section[] {
  const { moment, timeline, any } = clockOf(run);
  const player = any ? new Player(moment) : undefined;
  const title = alone ? jobTitle(run.summary) : "";
  const { summary } = run;
  const kind = kSources[summary.source] ?? summary.source;
  const section = (id: string, title: string, content: HTMLElement | null, heading = title): Section[] => (content ? [{ id, title, heading, content }] : []);
  const power = powerParts(run);
  const over = seriesView(run, moment);
  const energy = run.energy_stacks ? energyStacksView(run.energy_stacks) : null;
  const { recorded } = run;
  const { trace } = recorded ?? {};
  const sections = [
    ...section("overview", "Overview", h("div", {}, h("p", { class: "job-line" }, [title ? run.name : "", jobLine(summary), kind].filter(Boolean).join(" · ")), recorded ? whoView(run) : null, headline(summary, run.fit)), title || run.name),
    ...section("prediction", "Prediction", recorded ? againstPredictionView(recorded) : null, "Held to its prediction"),
    ...section("findings", "Findings", findingsView(run.findings, numberIn(summary, "performance", "step_time_s")), "What costs most"),
    ...section("what-if", "What if", whatIf ? whatIfView(whatIf, run.name, moment) : null, "What if: the jobs around this one"),
    ...section("step", "The step", breakdownView(summary, run.ranks)),
    ...section("ranks", "Ranks", trace ? ranksView(trace) : null),
    ...section("kernels", "Kernels", trace ? kernelsView(trace) : null, "Phases and kernels"),
    ...section("kernel-energy", "Energy by kernel", trace ? energyByKernelView(trace) : null, "What draws the energy"),
    ...section("operators", "Operators", trace ? operatorsView(trace) : null),
    ...section("taxes", "Taxes", trace ? taxesView(trace) : null, "Time that nobody asked for"),
    ...section("path", "Critical path", recorded ? pathView(recorded) : null),
    ...section("waits", "Who waits", recorded ? waitsView(recorded) : null, "Who waits for whom"),
    ...section("timeline", "Timeline", run.timeline ? timelineView(run.timeline, moment, timeline ? player : undefined) : null),
    ...section("memory", "Memory", memoryView(summary)),
    ...section("experts", "Experts", expertsView(summary), "How evenly experts are loaded"),
    ...section("documents", "Documents", documentsView(summary), "What documents of unlike length cost"),
    ...section("gpu-kinds", "GPUs by kind", gpuKindsView(summary), "Who works and who waits, by kind of GPU"),
    ...section("links", "Links", linksView(summary, run.collectives), "Links and collectives"),
    ...section("power", "Power and heat", over || energy || power || recorded?.marks ? h("div", {}, recorded ? marksView(run) : null, over, energy, power) : null, "Power, temperature and clocks"),
    ...section("machine", "GPUs", (run.ranks?.rank.length ?? 0) > 1 ? machineView(run, moment) : null, `GPUs in place, ${quantity(run.ranks?.rank.length ?? 0)} of them`),
    ...section("readings", "Readings", recorded ? readingsView(recorded) : null, "What was read"),
    ...section("odd", "Out of line", recorded ? oddView(recorded) : null),
    ...section("missing", "What is missing", recorded ? missingView(run) : null, "What could not be recorded, and why"),
    ...section("assumptions", "Assumptions", assumptionsView(run.assumptions), "The job and every assumption"),
  ];
  const last = sections.filter(({ id }) => kMoving.has(id)).pop();
  if (player && last) last.foot = { element: player.element, of: sections.filter(({ id }) => kMoving.has(id)).map(({ id }) => id) };
  return sections;
}
