import type { StudyDocument, StudyPoint } from "../document";
import { jobName, layoutName, modelName } from "./job_words";

/** Ids are unique together with their family. */
export const pointKey = (point: StudyPoint): string => (point.family ? `${point.family}/${point.id}` : point.id);
export const pointHref = (study: StudyDocument, index: number): string | undefined => {
  const point = study.points[index];
  return point && `#point=${encodeURIComponent(pointKey(point))}`;
};
export const pointTitle = (study: StudyDocument, index: number): string => {
  const point = study.points[index];
  return point ? pointName(study, point) : "";
};

const kNames = new WeakMap<StudyDocument, Map<StudyPoint, string>>();

/** What tells a point from the others: its place on the axes, else what its job is, with its id where others are named alike. */
export function pointName(study: StudyDocument, point: StudyPoint): string {
  let names = kNames.get(study);
  if (!names) {
    const axes = study.axes.filter((axis) => axis.values.length > 1);
    const plain = study.points.map((one) => axes.map((axis) => one.axes[axis.name]).filter(Boolean).join(" · ") || jobName(one.summary));
    const counts = new Map<string, number>();
    for (const [i, one] of study.points.entries()) counts.set(`${one.family}|${plain[i]}`, (counts.get(`${one.family}|${plain[i]}`) ?? 0) + 1);
    names = new Map(study.points.map((one, i) => [one, plain[i] === "" ? one.id : counts.get(`${one.family}|${plain[i]}`)! > 1 ? `${plain[i]} (${one.id})` : plain[i]!]));
    kNames.set(study, names);
  }
  return names.get(point) ?? point.id;
}

export const kStatus: Record<StudyPoint["status"], string> = { ok: "ok", "does-not-fit": "does not fit", refused: "refused" };

export interface PointAxis {
  name: string;
  values: string[];
  of: (point: StudyPoint) => string;
}

const jobPart = (point: StudyPoint, group: string, name: string): string => {
  const value = (point.summary?.job?.[group] as Record<string, unknown> | undefined)?.[name];
  return value === undefined || value === null ? "" : String(value);
};

/** What points differ in: the study's axes; where most points lie on none of them, what their jobs say. */
export function axesOf(study: StudyDocument): PointAxis[] {
  const own = study.axes.map((axis): PointAxis => ({ ...axis, of: (point) => point.axes[axis.name] ?? "" }));
  const placed = study.points.filter((point) => Object.keys(point.axes).length > 0).length;
  if (own.length > 0 && 2 * placed >= study.points.length) return own;
  const told: [string, (point: StudyPoint) => string][] = [
    ["mode", (point) => jobPart(point, "training", "mode")], ["GPU", (point) => jobPart(point, "cluster", "gpu")], ["GPUs", (point) => jobPart(point, "cluster", "gpus")],
    ["model", (point) => modelName(point.summary)], ["layout", (point) => layoutName(point.summary)],
    ["micro batch", (point) => jobPart(point, "training", "micro_batch_size")], ["recompute", (point) => jobPart(point, "training", "recompute")],
  ];
  return told.map(([name, of]) => ({ name, of, values: [...new Set(study.points.map(of))].filter((value) => value !== "").sort((a, b) => a.localeCompare(b, "en", { numeric: true })) }))
    .filter((axis) => axis.values.length > 1);
}
