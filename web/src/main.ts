import type { ReportDocument } from "./document";
import { decoded, readAddress } from "./base/address";
import { h } from "./base/dom";
import { startTheme, toggleTheme } from "./base/theme";
import { loadDocument } from "./load";
import { hideTip } from "./parts/tip";
import { compareSections } from "./views/compare";
import { jobSections } from "./views/job";
import { jobTitle } from "./views/job_words";
import { followReading, sectionsView, type Section } from "./views/sections";
import { pointSections, studySections } from "./views/study";

interface View {
  /** What leads to it, without the section. */
  base: string;
  title: string;
  sections: () => Section[] | undefined;
}

/** What can be opened from the bar at the top, the first of them first. */
function viewsOf(report: ReportDocument): View[] {
  const study = report.study;
  return [
    ...(study ? [{ base: "study", title: "Study", sections: () => studySections(study) }] : []),
    ...(report.runs.length > 1 ? [{ base: "compare", title: "Side by side", sections: () => compareSections(report) }] : []),
    ...report.runs.map((run): View => ({ base: `run=${encodeURIComponent(run.name)}`, title: run.name, sections: () => jobSections(run, report.runs.length === 1, report.what_if) })),
  ];
}

function start(report: ReportDocument): void {
  const views = viewsOf(report);
  const page = document.getElementById("page")!;
  // A file's name alone says little in a list of tabs.
  const about = report.runs.length === 1 && report.runs[0]!.name === report.title ? jobTitle(report.runs[0]!.summary) : "";
  document.title = `${[about, report.title].filter(Boolean).join(" – ")} – Ergometer`;
  const tabs = h("nav", { class: "tabs", "aria-label": "Views" }, ...(views.length > 1 ? views.map((view) => h("a", { href: `#${view.base}`, "data-base": view.base }, view.title)) : []));
  const stage = h("div", { id: "stage" });
  page.replaceChildren(h("a", { class: "skip", href: "#content", click: ((event: Event) => { event.preventDefault(); stage.querySelector("main")?.focus(); }) as never }, "Skip to content"),
    h("header", { class: "bar" }, h("a", { class: "brand", href: `#${views[0]?.base ?? ""}` }, h("b", {}, "Ergometer"), h("span", {}, report.title)), tabs,
      h("div", { class: "tools" }, h("button", { type: "button", class: "quiet", click: () => print() }, "Print"),
        h("button", { type: "button", class: "quiet", "aria-label": "Light/dark: switch colours", click: () => toggleTheme() }, "Light/dark"))),
    stage, h("footer", {}, `Ergometer ${report.ergometer_version}. This file is complete in itself: it loads nothing and sends nothing.`));

  let shown = "";
  // Kept, with the place in them, so that going back finds everything as it was left.
  const made = new Map<string, HTMLElement>();
  const places = new Map<string, number>();
  const build = (view: View): HTMLElement => {
    const sections = view.sections();
    const element = sections ? sectionsView(sections, view.base) : h("main", { id: "content", tabindex: -1 }, h("h1", {}, "There is no such point"), h("p", {}, h("a", { href: "#study" }, "Back to the study")));
    if (!view.base.startsWith("point=")) made.set(view.base, element);
    return element;
  };
  const go = (): void => {
    const hash = readAddress();
    const point = hash.base.startsWith("point=") ? decoded(hash.base.slice(6)) : undefined;
    const view: View = point !== undefined && report.study
      ? { base: hash.base, title: point, sections: () => pointSections(report.study!, point) }
      : (views.find((one) => one.base === hash.base) ?? views[0]!);
    if (shown !== view.base) {
      places.set(shown, scrollY);
      hideTip();
      stage.replaceChildren(made.get(view.base) ?? build(view));
      followReading(stage);
      const back = places.get(view.base);
      shown = view.base;
      scrollTo(0, hash.at ? 0 : (back ?? 0));
    }
    for (const tab of tabs.querySelectorAll("a")) {
      const current = tab.dataset.base === view.base || (point !== undefined && tab.dataset.base === "study");
      if (current) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    if (hash.at) document.getElementById(`at-${hash.at}`)?.scrollIntoView();
  };
  addEventListener("hashchange", go);
  go();
  // Behind layout and the pictures' first drawing: what the tests hold to a limit.
  requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("first-picture")));
}

startTheme();
loadDocument().then(start, (error: unknown) => {
  const text = error instanceof Error ? error.message : String(error);
  document.getElementById("page")!.replaceChildren(h("p", { class: "loading", role: "alert" }, text));
});
