import type { CollectiveColumns, Summary } from "../document";
import { h, s } from "../base/dom";
import { quantity, words } from "../base/format";
import { css } from "../base/theme";
import { label, newSvg } from "../charts/frame";
import { picture } from "../parts/picture";
import { table } from "../parts/table";
import { tipOn } from "../parts/tip";

type Link = NonNullable<Summary["links"]>[number];

/** Utilisation is of the mean; the line rate follows from it, and the peak is held against the same. */
const rateOf = (link: Link): number => (link.utilization > 0 ? link.mean_gb_per_s / link.utilization : link.peak_gb_per_s);

function gauges(links: Link[], width: number): SVGSVGElement {
  const pitch = 44;
  const svg = newSvg(width, links.length * pitch + 4);
  const [left, right] = [0, 0];
  links.forEach((link, i) => {
    const y = i * pitch + 20;
    const room = width - left - right;
    const [mean, peak] = [link.utilization, Math.min(1, link.peak_gb_per_s / Math.max(1e-30, rateOf(link)))];
    svg.append(label(link.kind, 0, y - 10, { token: "text", bold: true }),
      label(`mean ${quantity(mean, "1")} · peak ${quantity(peak, "1")} of ${quantity(rateOf(link) * 1e9, "B/s")}`, width, y - 10, { anchor: "end", token: "text" }));
    const bar = s("g", {},
      s("rect", { x: left, y, width: room, height: 14, style: `fill:${css("raised")}` }),
      s("rect", { x: left, y, width: Math.max(1, room * peak), height: 14, style: `fill:${css("allgather")};fill-opacity:0.45` }),
      s("rect", { x: left, y, width: Math.max(1, room * mean), height: 14, style: `fill:${css("allgather")}` }));
    svg.append(tipOn(bar, link.kind, [["a step", quantity(link.bytes_per_step, "B")], ["mean", quantity(link.mean_gb_per_s * 1e9, "B/s")],
      ["peak", quantity(link.peak_gb_per_s * 1e9, "B/s")], ["line rate", quantity(rateOf(link) * 1e9, "B/s")]]));
  });
  return svg;
}

export function linksView(summary: Summary, collectives: CollectiveColumns | undefined): HTMLElement | null {
  const links = summary.links ?? [];
  if (links.length === 0 && !collectives) return null;
  const fullest = [...links].sort((a, b) => b.peak_gb_per_s / rateOf(b) - a.peak_gb_per_s / rateOf(a))[0];
  return h("div", {}, links.length > 0 && fullest ? picture({
    title: "Links against their limits",
    note: `Full colour: mean over the step. Pale: the busiest stretch. ${fullest.kind} comes closest to its limit: ${quantity(Math.min(1, fullest.peak_gb_per_s / rateOf(fullest)), "1")} at its peak.`,
    summary: links.map((link) => `${link.kind}: mean ${quantity(link.utilization, "1")} of line rate, ${quantity(link.bytes_per_step, "B")} a step, peak ${quantity(link.peak_gb_per_s * 1e9, "B/s")}`).join(". "),
    table: { columns: [{ title: "link" }, { title: "bytes per step", unit: "B" }, { title: "mean GB/s", unit: "GB/s" }, { title: "peak GB/s", unit: "GB/s" }, { title: "utilization", unit: "1" }],
      rows: links.map((link) => [link.kind, link.bytes_per_step, link.mean_gb_per_s, link.peak_gb_per_s, link.utilization]) },
    draw: (host, width) => host.replaceChildren(gauges(links, width)),
  }) : null,
  collectives && collectives.group.length > 0 ? h("div", { class: "block" }, h("h3", {}, "Collectives"),
    h("p", { class: "note" }, "Slowest group first. What is exposed is what a better overlap could win back."),
    table("Collectives", { columns: [{ title: "group" }, { title: "kind" }, { title: "calls", unit: "" }, { title: "bytes", unit: "B" },
      { title: "time", unit: "s" }, { title: "exposed", unit: "s" }, { title: "bus bandwidth", unit: "GB/s" }],
      rows: collectives.group.map((group, i) => [words(group), words(collectives.kind[i]!), collectives.calls[i]!, collectives.bytes[i]!, collectives.total_s[i]!,
        collectives.exposed_s[i]!, collectives.bus_gb_per_s[i] ?? null]) }, { rows: "groups" })) : null);
}
