import { h } from "../base/dom";

export interface Section {
  id: string;
  /** In the list of sections. */
  title: string;
  /** Above the section. */
  heading: string;
  content: HTMLElement;
  /** Parts that the list shows below it. */
  inner?: { id: string; title: string }[];
  /** Stands at the foot of the window while one of these sections is read. */
  foot?: { element: HTMLElement; of: string[] };
}

/** The sections under each other with a list beside them; `base` is the hash that leads to this view. */
export function sectionsView(sections: Section[], base: string): HTMLElement {
  const item = (id: string, title: string): HTMLElement => h("li", {}, h("a", { href: `#${base}&at=${id}`, "data-at": id }, title));
  const list = h("nav", { class: "sections", "aria-label": "Sections" }, h("ul", {}, ...sections.flatMap((section) => {
    const own = item(section.id, section.title);
    if (section.inner) own.append(h("ul", {}, ...section.inner.map((one) => item(one.id, one.title))));
    return [own];
  })));
  const made = sections.map((section, i) => h("section", { id: `at-${section.id}`, "aria-labelledby": `heading-${section.id}` },
    h(i === 0 ? "h1" : "h2", { id: `heading-${section.id}` }, section.heading), section.content));
  const foot = sections.find((section) => section.foot)?.foot;
  if (foot) showWhile(foot.element, made.filter((_, i) => foot.of.includes(sections[i]!.id)));
  return h("div", { class: "layout" }, list, h("main", { id: "content", tabindex: -1 }, ...made, foot?.element));
}

/** Shows an element while any of the others is in sight. */
function showWhile(element: HTMLElement, others: HTMLElement[]): void {
  const seen = new Set<Element>();
  element.hidden = true;
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) seen.add(target);
      else seen.delete(target);
    }
    element.hidden = seen.size === 0;
  });
  for (const other of others) watch.observe(other);
}

/** Marks the section that is being read in the list. */
export function followReading(view: HTMLElement): void {
  const links = new Map([...view.querySelectorAll<HTMLAnchorElement>("nav.sections a")].map((link) => [`at-${link.dataset.at}`, link]));
  const seen = new Set<string>();
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) seen.add(entry.target.id);
      else seen.delete(entry.target.id);
    }
    let marked: boolean = false;
    for (const [id, link] of links) {
      const now: boolean = !marked && seen.has(id);
      marked ||= now;
      if (now) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "-80px 0px -60% 0px" });
  for (const id of links.keys()) {
    const target = view.querySelector(`#${CSS.escape(id)}`);
    if (target) watch.observe(target);
  }
}
