import type { Summary } from "../document";
import { digits } from "../base/format";

type Part = Record<string, unknown> | undefined;
const part = (summary: Summary | undefined, name: string): Part => summary?.job?.[name] as Part;

/** Its name; of one that stands in the job file without a name, its size. */
export function modelName(summary: Summary | undefined): string {
  const model = part(summary, "model");
  const size = Number(model?.parameters ?? 0);
  if (model?.name && !(model.name === "model" && size > 0)) return String(model.name);
  return size > 0 ? `${digits(size / 1e9)}B parameters` : "";
}

/** "TP8-PP4", "EP8-TP1-PP4", "TP8-FSDP": as studies write it. */
export function layoutName(summary: Summary | undefined): string {
  const p = part(summary, "parallelism");
  if (!p) return "";
  const sizes = (["ep", "tp", "cp", "pp", "vpp"] as const).filter((name) => Number(p[name] ?? 1) > 1).map((name) => `${name.toUpperCase()}${String(p[name])}`);
  if (p.fsdp === true) sizes.push("FSDP");
  return sizes.length > 0 ? sizes.join("-") : p.dp ? `DP${String(p.dp)}` : "";
}

/** "llama3-70b, TP4-PP4 on 64 × H200": what one job is, in a line. */
export function jobTitle(summary: Summary): string {
  const [model, layout, cluster] = [modelName(summary), layoutName(summary), part(summary, "cluster")];
  const gpus = cluster?.gpus ? `${Number(cluster.gpus).toLocaleString("en")} × ${String(cluster.gpu ?? "GPU")}` : "";
  const what = [model, layout].filter(Boolean).join(", ");
  return what && gpus ? `${what} on ${gpus}` : what || gpus;
}
