import { h } from "../base/dom";
import { css, type Token } from "../base/theme";

/** Names beside their colours, in the order of the marks. */
export function legend(entries: { title: string; token: Token }[]): HTMLElement {
  return h("ul", { class: "legend" }, ...entries.map((entry) =>
    h("li", {}, h("i", { style: `background:${css(entry.token)}` }), entry.title)));
}

/** What the legend nearest to a picture says: its own, or the one above all panels of its figure. */
export function legendOver(picture: Element): { title: string; colour: string }[] {
  const list = picture.querySelector(".legend") ?? picture.closest(".figure")?.querySelector(".legend");
  return [...(list?.children ?? [])].map((entry) => ({ title: entry.textContent ?? "", colour: entry.querySelector("i")!.style.background }));
}
