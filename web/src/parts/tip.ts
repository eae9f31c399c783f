import { h } from "../base/dom";

let box: HTMLElement | undefined;

/** The small box beside the pointer: a heading and lines of name and value. */
export function showTip(x: number, y: number, title: string, lines: [string, string][] = []): void {
  if (!box) {
    box = h("div", { class: "tip", role: "presentation" });
    document.body.append(box);
  }
  box.replaceChildren(h("strong", {}, title), ...lines.map(([name, value]) => h("div", {}, h("span", {}, name), h("b", {}, value))));
  box.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = box;
  const left = x + 14 + width > innerWidth ? Math.max(4, x - width - 14) : x + 14;
  const top = y + 14 + height > innerHeight ? Math.max(4, y - height - 10) : y + 14;
  box.style.transform = `translate(${left}px, ${top}px)`;
}

export function hideTip(): void {
  if (box) box.hidden = true;
}

/** Shows a tip over a mark while it is pointed at, or while the link around it has the keyboard's focus. */
export function tipOn<T extends Element>(mark: T, title: string, lines: [string, string][] = [], link?: Element): T {
  mark.addEventListener("pointermove", (event) => showTip((event as PointerEvent).clientX, (event as PointerEvent).clientY, title, lines));
  mark.addEventListener("pointerleave", hideTip);
  // Only of links: Chromium puts every SVG element that listens to focus into the order of tabs.
  link?.addEventListener("focus", () => {
    const place = mark.getBoundingClientRect();
    showTip(place.right, place.top, title, lines);
  });
  link?.addEventListener("blur", hideTip);
  return mark;
}
