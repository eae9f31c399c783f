import type { PredictedQuantity, Recorded } from "../document";
import { h, s } from "../base/dom";
import { quantity, range } from "../base/format";
import { css } from "../base/theme";
import { label, newSvg } from "../charts/frame";
import { extent, linear } from "../charts/scale";
import { picture } from "../parts/picture";
import { fitted } from "../parts/surface";
import { metricOf } from "./metrics";

const kPlaces: Record<PredictedQuantity["state"], string> = { inside: "inside its interval", above: "above its interval", below: "below its interval", no_interval: "predicted without an interval", not_measured: "not measured" };
const kRow = 52;

const titleOf = (one: PredictedQuantity): string => metricOf(one.name)?.title ?? one.name;
const unitOf = (one: PredictedQuantity): string => metricOf(one.name)?.unit ?? one.unit;
const isOutside = (one: PredictedQuantity): boolean => one.state === "above" || one.state === "below";

const predictedText = (one: PredictedQuantity): string => quantity(one.value, unitOf(one)) + (one.high > one.low ? ` (${range([one.low, one.high], unitOf(one))})` : "");
/** "step time 2.1 s, above its interval". */
const placed = (one: PredictedQuantity): string => `${titleOf(one)}${one.measured === null ? "" : ` ${quantity(one.measured, unitOf(one))}`}, ${kPlaces[one.state]}`;
/** "step time 2.1 s, above its interval: predicted 1.95 s (1.9 s to 2 s)". */
const inWords = (one: PredictedQuantity): string => `${placed(one)}: predicted ${predictedText(one)}`;

/** Every quantity on an axis of its own: the interval a band, the prediction a line in it, what was measured a dot. */
function strips(quantities: PredictedQuantity[], width: number): SVGSVGElement {
  const svg = newSvg(width, quantities.length * kRow);
  quantities.forEach((one, i) => {
    const y = i * kRow + 32;
    const [low, high] = extent([one.low, one.high, one.value, one.measured]);
    const scale = linear(low - (high - low) * 0.08, high + (high - low) * 0.08, 0, width, 2, "", true);
    const band = Math.max(2, scale.at(one.high) - scale.at(one.low));
    svg.append(label(fitted(width < 560 ? placed(one) : inWords(one), width), 0, i * kRow + 12, { token: "text" }),
      s("line", { x1: 0, x2: width, y1: y, y2: y, style: `stroke:${css("grid")}` }),
      s("rect", { x: scale.at(one.low).toFixed(1), y: y - 7, width: band.toFixed(1), height: 14, rx: 3, style: `fill:${css("accent")};opacity:0.3` }),
      s("line", { x1: scale.at(one.value), x2: scale.at(one.value), y1: y - 9, y2: y + 9, style: `stroke:${css("text")};stroke-width:2` }));
    if (one.measured !== null) svg.append(s("circle", { cx: scale.at(one.measured).toFixed(1), cy: y, r: 5, style: `fill:${css(isOutside(one) ? "bad" : "good")};stroke:${css("surface")};stroke-width:1.5` }));
  });
  return svg;
}

/** What was predicted of the job before it ran, beside what was measured. */
export function againstPredictionView({ prediction }: Recorded): HTMLElement | null {
  if (!prediction) return null;
  const { quantities } = prediction;
  const outside = quantities.filter(isOutside);
  const measured = quantities.filter((one) => one.measured !== null).length;
  const verdict = measured === 0 ? "Nothing that was predicted was measured." : outside.length === 0 ? `What was measured, ${measured} of ${quantities.length}, lies inside.` : `Outside: ${outside.map(titleOf).join(", ")}.`;
  return h("div", {}, h("p", { class: outside.length > 0 ? "verdict bad" : "verdict" }, verdict),
    picture({ title: `Predicted of ${prediction.job} before it ran`, note: "Band: 90 % interval; line: prediction; dot: measured.", summary: quantities.map(inWords).join("; "),
      table: { columns: [{ title: "quantity" }, { title: "predicted" }, { title: "90 % interval" }, { title: "measured" }, { title: "where it lies" }],
        rows: quantities.map((one) => [titleOf(one), quantity(one.value, unitOf(one)), one.high > one.low ? range([one.low, one.high], unitOf(one)) : "", one.measured === null ? "" : quantity(one.measured, unitOf(one)), kPlaces[one.state]]) },
      draw: (host, width) => host.replaceChildren(strips(quantities, width)) }));
}
