import type { StudyDocument, StudyPoint } from "../document";

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

/** What tells a point from the others, in the order of the axes. */
export function pointName(study: StudyDocument, point: StudyPoint): string {
  const parts = study.axes.filter((axis) => axis.values.length > 1 && point.axes[axis.name]).map((axis) => point.axes[axis.name]!);
  return parts.length > 0 ? parts.join(" · ") : point.id;
}

export const kStatus: Record<StudyPoint["status"], string> = { ok: "ok", "does-not-fit": "does not fit", refused: "refused" };
