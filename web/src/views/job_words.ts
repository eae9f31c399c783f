import type { Summary } from "../document";
import { digits } from "../base/format";

type Part = Record<string, unknown> | undefined;
const part = (summary: Summary | undefined, name: string): Part => summary?.job?.[name] as Part;

/** Its name; of one that stands in the job file without a name, its kind and size. */
export function modelName(summary: Summary | undefined): string {
  const model = part(summary, "model");
  const size = Number(model?.parameters ?? 0);
  if (model?.name && !(model.name === "model" && size > 0)) return String(model.name);
  return size > 0 ? `${String(model?.architecture ?? "model")} ${digits(size / 1e9)}B` : "";
}

/** "TP8-PP4", "EP8-TP1-PP4", "TP8-FSDP": as studies write it. */
export function layoutName(summary: Summary | undefined): string {
  const p = part(summary, "parallelism");
  if (!p) return "";
  const divided = Number(p.pp ?? 1) > 1 || Number(p.ep ?? 1) > 1;
  const sizes = (["ep", "tp", "cp", "pp", "vpp"] as const).filter((name) => Number(p[name] ?? 1) > 1 || (name === "tp" && divided && p.tp)).map((name) => `${name.toUpperCase()}${String(p[name])}`);
  if (p.fsdp === true) sizes.push("FSDP");
  return sizes.length > 0 ? sizes.join("-") : p.dp ? `DP${String(p.dp)}` : "";
}

/** "64 × H200", "32 × A100 and H100" where nodes are unlike; whole names, or (`family`) what stands before the first dash. */
export function gpusOf(cluster: Record<string, unknown> | undefined, family = false): string {
  if (!cluster?.gpus) return "";
  const groups = Array.isArray(cluster.groups) ? (cluster.groups as { gpu?: string }[]) : [cluster as { gpu?: string }];
  const names = groups.map(({ gpu }) => (family ? String(gpu ?? "GPU").split("-")[0] : String(gpu ?? "GPU")));
  return `${Number(cluster.gpus).toLocaleString("en")} × ${[...new Set(names)].join(" and ")}`;
}

/** "llama3-70b, TP4-PP4 on 64 × H200": what one job is, in a line. */
export function jobTitle(summary: Summary): string {
  const [model, layout, gpus] = [modelName(summary), layoutName(summary), gpusOf(part(summary, "cluster"))];
  const what = [model, layout].filter(Boolean).join(", ");
  return what && gpus ? `${what} on ${gpus}` : what || gpus;
}

/** "TP2-PP16, micro batch 2, recomputed": how a job is divided and run, as short as can be. */
export function choiceName(summary: Summary | undefined): string {
  const [training, conditions] = [part(summary, "training"), part(summary, "conditions")];
  const batch = Number(training?.micro_batch_size ?? 1);
  const overlaps = ["overlap_grad_reduce", "overlap_param_gather", "tp_comm_overlap"].some((name) => training?.[name] === true);
  const overrides = Array.isArray(conditions?.overrides) ? (conditions.overrides as { text?: string }[]).map(({ text }) => text) : [];
  return [layoutName(summary), batch > 1 ? `micro batch ${batch}` : "", training?.recompute === "full" ? "recomputed" : "", overlaps ? "overlapped" : "",
    conditions?.lock_clock_mhz ? `locked to ${String(conditions.lock_clock_mhz)} MHz` : "", conditions?.cooling && conditions.cooling !== "air" ? String(conditions.cooling) : "", ...overrides].filter(Boolean).join(", ");
}

const kModes: Record<string, string> = { lora: "LoRA", decode: "inference" };
/** What the job does with the model; empty where it trains all of it. */
export const modeName = (summary: Summary | undefined): string => kModes[String(part(summary, "training")?.mode)] ?? "";

/** "32 × H200": GPUs by how many and what family. */
export const machineName = (summary: Summary | undefined): string => gpusOf(part(summary, "cluster"), true);

/** "gpt3-175b TP2-PP16 on 32 × H200, recomputed, overlapped": what tells jobs of a study apart. */
export function jobName(summary: Summary | undefined): string {
  const [machine, layout, choice] = [machineName(summary), layoutName(summary), choiceName(summary)];
  const rest = choice.slice(layout.length).replace(/^, /, "");
  return [[modelName(summary), layout, machine && `on ${machine}`].filter(Boolean).join(" "), modeName(summary), rest].filter(Boolean).join(", ");
}
