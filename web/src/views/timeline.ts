import type { Timeline } from "../document";
import { h } from "../base/dom";
import { moment as told, plural, quantity, words } from "../base/format";
import { kindToken, type Token } from "../base/theme";
import { legend } from "../parts/legend";
import type { Moment } from "../parts/moment";
import { picture, redraw } from "../parts/picture";
import type { Player } from "../parts/player";
import { canvasIn, SvgSurface } from "../parts/surface";
import type { Cell, TableData } from "../parts/table";
import { hideTip, showTip } from "../parts/tip";
import { kAxis, labelWidth, lanesOf, TimelinePainter, type Window } from "./timeline_paint";

/** What part of the step is seen; zooming keeps a place where it is. */
class View {
  from = 0;
  to: number;
  constructor(readonly end: number) {
    this.to = end;
  }
  zoom(factor: number, around: number): void {
    const span = Math.min(this.end, Math.max(2, (this.to - this.from) * factor));
    const place = (around - this.from) / (this.to - this.from);
    this.set(around - place * span, around + (1 - place) * span);
  }
  pan(by: number): void {
    this.set(this.from + by, this.to + by);
  }
  set(from: number, to: number): void {
    const span = Math.min(this.end, to - from);
    this.from = Math.min(Math.max(0, from), this.end - span);
    this.to = this.from + span;
  }
  get window(): Window {
    return { from: this.from, to: this.to };
  }
}

interface KernelSum {
  rank: number;
  stream: string;
  category: string;
  count: number;
  total: number;
}

/** Of recordings that tell no passes: what each rank did by category, as its kernels sum up. */
function sumsOf(timeline: Timeline): KernelSum[] {
  return timeline.ranks.flatMap((rank) => {
    const sums = new Map<string, KernelSum>();
    rank.kernels?.duration_us.forEach((duration, i) => {
      const [stream, category] = [timeline.streams[rank.kernels!.stream[i]!] ?? "", words(timeline.categories[rank.kernels!.category[i]!] ?? "")];
      const sum = sums.get(`${stream}|${category}`) ?? { rank: rank.rank, stream, category, count: 0, total: 0 };
      sum.count += 1;
      sum.total += duration / 1e6;
      sums.set(`${stream}|${category}`, sum);
    });
    return [...sums.values()];
  });
}

const kernelTable = (timeline: Timeline): TableData => ({
  columns: [{ title: "rank", unit: "" }, { title: "stream" }, { title: "category", facet: true }, { title: "kernels", unit: "" }, { title: "time", unit: "s" }],
  rows: sumsOf(timeline).map((sum): Cell[] => [sum.rank, sum.stream, sum.category, sum.count, sum.total]),
});

function tableOf(timeline: Timeline): TableData {
  if (!timeline.ranks.some((rank) => rank.tasks)) return kernelTable(timeline);
  const rows = timeline.ranks.flatMap((rank) => (rank.tasks?.kind ?? []).map((kind, i): Cell[] => {
    const t = rank.tasks!;
    return [rank.rank, rank.stage, words(kind), (timeline.names[t.what[i]!] ?? "").replaceAll("_", " "), t.micro_batch[i]!, t.start_us[i]! / 1e6, t.duration_us[i]! / 1e6];
  }));
  return { columns: [{ title: "rank", unit: "" }, { title: "stage", unit: "" }, { title: "task", facet: true }, { title: "what, or waits for" }, { title: "micro batch", unit: "" },
    { title: "start", unit: "s" }, { title: "duration", unit: "s" }], rows };
}

function summaryOf(timeline: Timeline): string {
  const busy = timeline.ranks.filter((rank) => rank.tasks).map((rank) => {
    const t = rank.tasks!;
    const sum = (waits: boolean): number => t.duration_us.reduce((total, value, i) => total + (t.beside[i] === 0 && (t.kind[i] === "wait") === waits ? value : 0), 0) / 1e6;
    const waits = sum(true) > 0 ? ` and waits ${quantity(sum(true), "s")}` : "";
    return `rank ${rank.rank} of stage ${rank.stage} is busy ${quantity(sum(false), "s")} (${quantity(sum(false) / timeline.step_s, "1")})${waits}`;
  });
  const sums = busy.length > 0 ? [] : timeline.ranks.slice(0, 8).map((rank) =>
    `rank ${rank.rank}: ${sumsOf({ ...timeline, ranks: [rank] }).map((sum) => `${sum.category} ${quantity(sum.total, "s")}`).join(", ")}`);
  return `A step of ${quantity(timeline.step_s, "s")}: ${[...busy, ...sums].join("; ")}.`;
}

const seenWords = (view: View): string => [view.from, view.to].map((time) => told(time / 1e6, (view.to - view.from) / 1e6)).join(" to ");

/** Who does what when: passes of micro batches, and kernels where the report holds them. */
export function timelineView(timeline: Timeline, moment: Moment, player: Player | undefined): HTMLElement | null {
  if (timeline.ranks.length === 0) return null;
  // Of many ranks the passes are enough to see the pipeline; who wants kernels asks for them.
  const passes = timeline.ranks.some((rank) => rank.tasks);
  let kernels = timeline.ranks.length <= 6 || !passes;
  const painter = new TimelinePainter(timeline, kernels);
  const ends = timeline.ranks.flatMap((rank) => rank.tasks?.start_us.map((start, i) => start + rank.tasks!.duration_us[i]!) ?? []);
  const view = new View(ends.reduce((most, end) => Math.max(most, end), timeline.step_s * 1e6));
  const shown = h("span", { class: "count", role: "status" });
  const cursor = h("div", { class: "moment", hidden: true });
  const restore = (): void => {
    const seen = moment.stretch("from", "to", view.end / 1e6);
    view.set(seen ? seen.from * 1e6 : 0, seen ? seen.to * 1e6 : view.end);
  };
  restore();
  let stage: HTMLElement | undefined;
  const again = (): void => {
    shown.textContent = seenWords(view);
    moment.keepStretch("from", "to", view.to - view.from < view.end * 0.9999 ? { from: view.from / 1e6, to: view.to / 1e6 } : undefined);
    if (stage) redraw(stage);
  };
  const place = (): void => {
    if (!stage || !player || moment.inStep === undefined) return void (cursor.hidden = true);
    const canvas = stage.querySelector("canvas")!;
    const left = labelWidth(canvas.clientWidth);
    const x = left + ((moment.inStep * 1e6 - view.from) / (view.to - view.from)) * (canvas.clientWidth - left);
    cursor.hidden = x < left || x > canvas.clientWidth;
    cursor.style.cssText = `top:${canvas.offsetTop + kAxis - 6}px;height:${canvas.clientHeight - kAxis}px;transform:translateX(${x.toFixed(1)}px)`;
  };
  moment.onChange(place);
  moment.onRestore(() => { restore(); again(); });
  const middle = (): number => (view.from + view.to) / 2;
  const act = (change: () => void) => (): void => { change(); again(); };
  const button = (name: string, label: string, change: () => void): HTMLElement => h("button", { type: "button", class: "quiet", "aria-label": label, title: label, click: act(change) }, name);
  const controls = [shown, button("−", "Zoom out", () => view.zoom(2, middle())), button("+", "Zoom in", () => view.zoom(0.5, middle())),
    button("◂", "Earlier", () => view.pan((view.from - view.to) / 4)), button("▸", "Later", () => view.pan((view.to - view.from) / 4)),
    button("All", "All of the step", () => view.set(0, view.end))];

  if (passes && timeline.ranks.some((rank) => rank.kernels)) {
    const toggle: HTMLButtonElement = h("button", { type: "button", class: "quiet", "aria-pressed": String(kernels), click: act(() => {
      kernels = !kernels;
      painter.lanes = lanesOf(timeline, kernels);
      toggle.setAttribute("aria-pressed", String(kernels));
    }) }, "Kernels");
    controls.push(toggle);
  }

  const draw = (host: HTMLElement, width: number): void => {
    if (!host.querySelector("canvas")) {
      canvasIn(host, width, painter.height);
      stage = host;
      listen(host, painter, view, again, player && { moment, player });
      host.querySelector("canvas")!.before(legend(kindsOf(timeline)));
      host.append(cursor);
    }
    const { surface } = canvasIn(host, width, painter.height);
    painter.paint(surface, width, view.window);
    place();
  };
  shown.textContent = seenWords(view);
  return picture({
    title: "Timeline of a step", controls, active: true,
    note: `${plural(timeline.ranks.length, "rank")}; ${passes ? "numbers are micro batches, low bars are transfers beside them, pale is waiting" : "a band a stream; gaps are waiting"}. Drag to move; click, then wheel or + and − to zoom; double-click fits what is under the pointer.${player ? " A click sets the moment that all pictures show; space plays." : ""}${timeline.left_out ? ` Not everything is here: ${timeline.left_out.replace(/\.$/, "")}.` : ""}`,
    summary: summaryOf(timeline), table: () => tableOf(timeline), draw,
    svg: (width) => {
      const surface = new SvgSurface(width, painter.height);
      painter.paint(surface, width, view.window);
      return surface.element;
    },
  });
}

function kindsOf(timeline: Timeline): { title: string; token: Token }[] {
  // What has the same colour stands together: forward passes are made of GEMMs.
  const tasks = new Set(timeline.ranks.flatMap((rank) => rank.tasks?.kind ?? []));
  const kernels = timeline.ranks.some((rank) => rank.kernels) ? timeline.categories : [];
  const titles = new Map<Token, string[]>();
  for (const name of new Set([...tasks, ...kernels])) titles.set(kindToken(name), [...(titles.get(kindToken(name)) ?? []), words(name)]);
  return [...titles].map(([token, names]) => ({ title: names.join(", "), token }));
}

/** Where a click is a moment. */
interface Clock {
  moment: Moment;
  player: Player;
}

/** Wheel (once the picture has the focus, so that the page can be scrolled over it), drag, pinch, keys. */
function listen(host: HTMLElement, painter: TimelinePainter, view: View, again: () => void, clock: Clock | undefined): void {
  const canvas = host.querySelector("canvas")!;
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "Timeline: plus and minus zoom, arrow keys move, Home shows all" + (clock ? ", space plays, comma and point move the moment" : ""));
  canvas.classList.add("movable");
  const width = (): number => canvas.clientWidth;
  const place = (clientX: number): number => clientX - canvas.getBoundingClientRect().left;
  const timeAt = (x: number): number => view.from + ((x - labelWidth(width())) / (width() - labelWidth(width()))) * (view.to - view.from);
  const scale = (): number => (view.to - view.from) / (width() - labelWidth(width()));
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey) return;
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.pan(event.deltaX * scale());
    else view.zoom(Math.exp(event.deltaY * 0.0025), timeAt(Math.max(labelWidth(width()), place(event.clientX))));
    again();
  }, { passive: false });
  const fingers = new Map<number, number>();
  let moved = 0;
  canvas.addEventListener("pointerdown", (event) => {
    moved = 0;
    fingers.set(event.pointerId, event.clientX);
    canvas.setPointerCapture(event.pointerId);
  });
  const lift = (event: PointerEvent): void => void fingers.delete(event.pointerId);
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (before === undefined) return hover(event);
    hideTip();
    moved += Math.abs(before - event.clientX);
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    if (other === undefined) view.pan((before - event.clientX) * scale());
    else view.zoom(Math.abs(before - other) / Math.max(1, Math.abs(event.clientX - other)), timeAt(place((event.clientX + other) / 2)));
    fingers.set(event.pointerId, event.clientX);
    again();
  });
  canvas.addEventListener("click", (event) => {
    const time = timeAt(place(event.clientX)) / 1e6;
    if (clock && moved < 4 && place(event.clientX) >= labelWidth(width())) clock.moment.setInStep(Math.min(time, view.end / 1e6));
  });
  const hover = (event: PointerEvent): void => {
    const found = painter.find(place(event.clientX), event.clientY - canvas.getBoundingClientRect().top, width(), view.window);
    if (found) showTip(event.clientX, event.clientY, found.title, found.lines);
    else hideTip();
  };
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("dblclick", (event) => {
    const found = painter.find(place(event.clientX), event.clientY - canvas.getBoundingClientRect().top, width(), view.window);
    if (!found || found.to <= found.from) return;
    const margin = (found.to - found.from) * 0.1;
    view.set(found.from - margin, found.to + margin);
    again();
  });
  canvas.addEventListener("keydown", (event) => {
    const span = view.to - view.from;
    const middle = (view.from + view.to) / 2;
    const keys: Record<string, () => void> = {
      "+": () => view.zoom(0.5, middle), "=": () => view.zoom(0.5, middle), w: () => view.zoom(0.5, middle), "-": () => view.zoom(2, middle), s: () => view.zoom(2, middle),
      ArrowLeft: () => view.pan(-span / 8), a: () => view.pan(-span / 8), ArrowRight: () => view.pan(span / 8), d: () => view.pan(span / 8),
      Home: () => view.set(0, view.end), "0": () => view.set(0, view.end),
    };
    const nudge = (by: number): void => clock!.moment.setInStep(Math.min(view.end / 1e6, Math.max(0, (clock!.moment.inStep ?? view.from / 1e6) + (by * span) / 2e8)));
    const times: Record<string, () => void> = clock ? { " ": () => clock.player.toggle(), ",": () => nudge(-1), ".": () => nudge(1) } : {};
    const plain = !event.ctrlKey && !event.metaKey;
    const act = plain ? keys[event.key] : undefined;
    const set = plain ? times[event.key] : undefined;
    if (!act && !set) return;
    event.preventDefault();
    set?.();
    if (!act) return;
    act();
    again();
  });
}
