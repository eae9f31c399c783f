import type { StudyDocument, StudyPoint, Summary } from "../document";
import { words } from "../base/format";
import { choiceName, machineName, modelName, modeName } from "./job_words";

/** Points that one may choose between: the same model and task on the same machine. */
export interface Group {
  title: string;
  /** Indices of points that ran. */
  points: number[];
}

type Part = Record<string, unknown> | undefined;
const part = (summary: Summary, name: string): Part => summary.job?.[name] as Part;
/** A fault, a hot GPU, a cap on one node: nothing that anyone would choose. */
const disturbed = (summary: Summary): boolean => ((part(summary, "conditions")?.overrides as unknown[] | undefined) ?? []).length > 0;

const task = (summary: Summary): string => [modelName(summary), modeName(summary)].filter(Boolean).join(", ");
const cluster = (summary: Summary): string => String(part(summary, "cluster")?.name ?? "");
/** What surrounds the GPUs and which of their kind they are: of predictions a seed draws it. */
const surroundings = (summary: Summary): string => (["cooling", "inlet_c", "fan", "seed"] as const).map((name) => {
  const value = part(summary, "conditions")?.[name];
  return value === undefined || value === null || value === 0 || value === "air" ? "" : name === "cooling" ? String(value) : `${words(name.replace("_c", ""))} ${String(value)}`;
}).filter(Boolean).join(", ");

/** What points of a group have in common, from all of the machine to its GPUs alone. */
const kLevels: ((summary: Summary) => string[])[] = [
  (summary) => [task(summary), machineName(summary), cluster(summary), surroundings(summary)],
  (summary) => [task(summary), machineName(summary)],
  (summary) => [task(summary)],
];

/** Enough to call one of them the best, where some group has so many. */
const kEnough = 5;

function grouped(points: { point: StudyPoint; index: number }[], level: (summary: Summary) => string[]): { key: string[]; points: number[]; first: Summary }[] {
  const groups = new Map<string, { key: string[]; points: number[]; first: Summary }>();
  for (const { point, index } of points) {
    const key = level(point.summary!);
    const group = groups.get(key.join("|")) ?? { key, points: [], first: point.summary! };
    group.points.push(index);
    groups.set(key.join("|"), group);
  }
  const all = [...groups.values()];
  const least = all.some((group) => group.points.length >= kEnough) ? kEnough : 2;
  return all.filter((group) => group.points.length >= least);
}

/** The finest groups that still offer a choice, larger ones of a model first; none where no two jobs can be held against each other. */
export function groupsOf(study: StudyDocument): Group[] {
  const ran = study.points.map((point, index) => ({ point, index })).filter(({ point }) => point.status === "ok" && point.summary?.job);
  const sound = ran.filter(({ point }) => !disturbed(point.summary!));
  for (const level of kLevels) {
    const groups = grouped(level === kLevels[0] ? sound : ran, level);
    if (groups.length === 0) continue;
    groups.sort((a, b) => a.key[0]!.localeCompare(b.key[0]!, "en", { numeric: true }) || b.points.length - a.points.length);
    const plain = groups.map(({ key }) => key.slice(0, 2).filter(Boolean).join(" on "));
    return groups.map(({ key, points, first }, i) => {
      const alike = groups.filter((_, k) => plain[k] === plain[i]);
      const differ = (at: number): boolean => new Set(alike.map((group) => group.key[at])).size > 1;
      const where = [differ(2) ? cluster(first) : "", differ(3) ? key[3] : ""].filter(Boolean).join(", ");
      return { title: where ? `${plain[i]} (${where})` : plain[i]!, points };
    });
  }
  return [];
}

/** Settings by name, whose difference is worth a word; what follows from others is left out. */
function settingsOf(summary: Summary): [string, string][] {
  const derived = new Set(["micro_batches", "padded_vocab", "dp", "etp", "software"]);
  const all = [["software", part(summary, "recipe")?.name], ...Object.entries(part(summary, "parallelism") ?? {}), ...Object.entries(part(summary, "training") ?? {}),
    ...Object.entries(part(summary, "conditions") ?? {}).filter(([, value]) => typeof value !== "object" || value === null)] as [string, unknown][];
  return all.filter(([name], i) => i === 0 || !derived.has(name)).map(([name, value]) => [name, typeof value === "boolean" ? (value ? "on" : "off") : String(value ?? "")]);
}

/** The first setting that points of one name differ in, of each of them; else their ids. */
function apart(points: StudyPoint[]): string[] {
  const settings = points.map((point) => new Map(settingsOf(point.summary!)));
  const name = [...settings[0]!.keys()].find((one) => new Set(settings.map((own) => own.get(one))).size > 1);
  return points.map((point, i) => (name === undefined ? point.id : name === "software" || name === "cooling" ? settings[i]!.get(name)! : `${words(name)} ${settings[i]!.get(name) || "by default"}`));
}

/** What tells the points of a group apart, as short as can be; jobs that stand in the study twice have one name. */
export function choiceNames(study: StudyDocument, group: Group): Map<number, string> {
  const pointAt = (index: number): StudyPoint => study.points[index]!;
  const axes = study.axes.filter(({ name }) => new Set(group.points.map((index) => pointAt(index).axes[name])).size > 1);
  const placed = group.points.every((index) => axes.some(({ name }) => pointAt(index).axes[name]));
  const names = new Map(group.points.map((index) => [index, placed ? axes.map(({ name }) => pointAt(index).axes[name]).filter(Boolean).join(" · ") : choiceName(pointAt(index).summary)]));
  const result = (index: number): string => JSON.stringify(pointAt(index).summary!.performance);
  for (const name of new Set(names.values())) {
    const twins = group.points.filter((index) => names.get(index) === name);
    if (new Set(twins.map(result)).size < 2) continue;
    apart(twins.map(pointAt)).forEach((text, i) => names.set(twins[i]!, [name, text].filter(Boolean).join(", ")));
  }
  return names;
}
