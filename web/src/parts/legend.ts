import { h } from "../base/dom";
import { css, type Token } from "../base/theme";

/** Names beside their colours, in the order of the marks. */
export function legend(entries: { title: string; token: Token }[]): HTMLElement {
  return h("ul", { class: "legend" }, ...entries.map((entry) =>
    h("li", {}, h("i", { style: `background:${css(entry.token)}` }), entry.title)));
}
