import type { CollectiveColumns, LinkUse, Summary } from "../document";
import { h, s } from "../base/dom";
import { quantity, words } from "../base/format";
import { css } from "../base/theme";
import { label, newSvg } from "../charts/frame";
import { picture } from "../parts/picture";
import { fitted, textWidth } from "../parts/surface";
import { table, type Cell } from "../parts/table";
import { tipOn } from "../parts/tip";

/** Utilisation is of the mean; the line rate follows from it, and the peak is held against the same. */
const rateOf = (link: LinkUse): number | undefined => (link.utilization ? link.mean_gb_per_s / link.utilization : undefined);
const peakOf = (link: LinkUse): number | undefined => {
  const rate = rateOf(link);
  return rate === undefined ? undefined : Math.min(1, link.peak_gb_per_s / rate);
};
const nameOf = (link: LinkUse): string => [link.kind, link.direction].filter(Boolean).join(", ");

/** What is known of it in words: against its limit, or as it was counted. */
function inWords(link: LinkUse): string {
  const rate = rateOf(link);
  return rate === undefined ? `mean ${quantity(link.mean_gb_per_s, "GB/s")} · peak ${quantity(link.peak_gb_per_s, "GB/s")}`
    : `mean ${quantity(link.utilization, "1")} · peak ${quantity(peakOf(link), "1")} of ${quantity(rate, "GB/s")}`;
}

function tipOf(link: LinkUse): [string, string][] {
  const all: [string, string | undefined][] = [["a step", link.bytes_per_step === undefined ? undefined : quantity(link.bytes_per_step, "B")],
    ["in all", link.bytes === undefined ? undefined : quantity(link.bytes, "B")], ["devices", link.devices === undefined ? undefined : quantity(link.devices)],
    ["mean", quantity(link.mean_gb_per_s, "GB/s")], ["peak", quantity(link.peak_gb_per_s, "GB/s")],
    ["line rate", rateOf(link) === undefined ? undefined : quantity(rateOf(link), "GB/s")],
    ["near its limit", link.saturated_fraction === undefined ? undefined : `${quantity(link.saturated_fraction, "1")} of the time`],
    ["counters", link.partial ? "some are missing" : undefined]];
  return all.filter((entry): entry is [string, string] => entry[1] !== undefined);
}

/** Links whose limit is not known are drawn against the highest peak of all. */
function gauges(links: LinkUse[], width: number): SVGSVGElement {
  const pitch = 44;
  const svg = newSvg(width, links.length * pitch + 4);
  const most = Math.max(...links.map((link) => link.peak_gb_per_s), 1e-30);
  links.forEach((link, i) => {
    const y = i * pitch + 20;
    const scale = rateOf(link) ?? most;
    const [mean, peak] = [Math.min(1, link.mean_gb_per_s / scale), Math.min(1, link.peak_gb_per_s / scale)];
    svg.append(label(fitted(nameOf(link), width - textWidth(inWords(link)) - 12), 0, y - 10, { token: "text", bold: true }),
      label(inWords(link), width, y - 10, { anchor: "end", token: "text" }));
    const bar = s("g", {},
      s("rect", { x: 0, y, width, height: 14, style: `fill:${css("raised")}` }),
      s("rect", { x: 0, y, width: Math.max(1, width * peak), height: 14, style: `fill:${css("allgather")};fill-opacity:0.45` }),
      s("rect", { x: 0, y, width: Math.max(1, width * mean), height: 14, style: `fill:${css("allgather")}` }));
    svg.append(tipOn(bar, nameOf(link), tipOf(link)));
  });
  return svg;
}

function linksPicture(links: LinkUse[]): HTMLElement {
  const limited = links.filter((link) => peakOf(link) !== undefined).sort((a, b) => peakOf(b)! - peakOf(a)!);
  const fullest = limited[0];
  const closest = fullest ? ` ${nameOf(fullest)} comes closest to its limit: ${quantity(peakOf(fullest), "1")} at its peak.` : "";
  const has = (name: "bytes_per_step" | "bytes" | "utilization"): boolean => links.some((link) => link[name] !== undefined);
  const against = limited.length === links.length ? "" : limited.length > 0 ? " Where no line rate is known, the bar's end is the highest peak of all." : " No line rate is known: the bars' end is the highest peak of all.";
  return picture({
    title: limited.length > 0 ? "Links against their limits" : "What went over the links",
    note: `Full colour: the mean. Pale: the busiest stretch.${closest}${against}`,
    summary: links.map((link) => `${nameOf(link)}: ${inWords(link)}, ${link.bytes_per_step === undefined ? `${quantity(link.bytes, "B")} in all` : `${quantity(link.bytes_per_step, "B")} a step`}`).join(". "),
    table: { columns: [{ title: "link" }, ...(has("bytes_per_step") ? [{ title: "bytes per step", unit: "B" }] : []), ...(has("bytes") ? [{ title: "bytes in all", unit: "B" }] : []),
      { title: "mean GB/s", unit: "GB/s" }, { title: "peak GB/s", unit: "GB/s" }, ...(has("utilization") ? [{ title: "utilization", unit: "1" }] : [])],
      rows: links.map((link): Cell[] => [nameOf(link), ...(has("bytes_per_step") ? [link.bytes_per_step ?? null] : []), ...(has("bytes") ? [link.bytes ?? null] : []),
        link.mean_gb_per_s, link.peak_gb_per_s, ...(has("utilization") ? [link.utilization ?? null] : [])]) },
    draw: (host, width) => host.replaceChildren(gauges(links, width)),
  });
}

export function linksView(summary: Summary, collectives: CollectiveColumns | undefined): HTMLElement | null {
  const links = summary.links ?? [];
  if (links.length === 0 && !collectives) return null;
  return h("div", {}, links.length > 0 ? linksPicture(links) : null,
  collectives && collectives.group.length > 0 ? h("div", { class: "block" }, h("h3", {}, "Collectives"),
    h("p", { class: "note" }, "Slowest group first. What is exposed is what a better overlap could win back."),
    table("Collectives", { columns: [{ title: "group" }, { title: "kind" }, { title: summary.source === "simulated" ? "calls a rank" : "calls", unit: "" }, { title: "bytes", unit: "B" },
      { title: "time", unit: "s" }, { title: "exposed", unit: "s" }, { title: "bus bandwidth", unit: "GB/s" }],
      rows: collectives.group.map((group, i) => [words(group), words(collectives.kind[i]!), collectives.calls[i]!, collectives.bytes[i] || null, collectives.total_s[i]!,
        collectives.exposed_s[i]!, collectives.bus_gb_per_s[i] ?? null]) }, { rows: "groups" })) : null);
}
