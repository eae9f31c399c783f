import { h } from "../base/dom";
import { moment as told } from "../base/format";
import type { Moment } from "./moment";

/** What all of it lasts when it is played, s. */
const kShortest = 8;
const kLongest = 24;
/** Where a reader wants no motion, moments change in jumps. */
const kJumps = 20;
const kSlider = 1000;

/** Button, slider and keys that move a moment. */
export class Player {
  readonly element: HTMLElement;
  private readonly button: HTMLButtonElement;
  private readonly slider: HTMLInputElement;
  private readonly line = h("output", { class: "count" });
  private last: number | undefined;
  private ahead = 0;

  constructor(private readonly moment: Moment) {
    this.button = h("button", { type: "button", class: "quiet play", click: () => this.toggle() });
    this.slider = h("input", { type: "range", min: 0, max: kSlider, step: "any", value: 0, "aria-label": "Moment of the step", input: () => {
      const time = (Number(this.slider.value) / kSlider) * moment.end;
      this.pause();
      moment.set(time);
    } });
    this.element = h("div", { class: "player", role: "group", "aria-label": "Playback" }, this.button, this.slider, this.line);
    this.element.addEventListener("keydown", (event) => {
      if (event.target === this.slider && event.key === " ") {
        event.preventDefault();
        this.toggle();
      }
    });
    moment.onChange(() => this.show());
    this.show();
  }

  get playing(): boolean {
    return this.last !== undefined;
  }
  toggle(): void {
    if (this.playing) return this.pause();
    if (this.moment.now === undefined || this.moment.now >= this.moment.end) this.moment.set(0);
    this.last = performance.now();
    this.ahead = 0;
    requestAnimationFrame((time) => this.frame(time));
    this.show();
  }
  pause(): void {
    this.last = undefined;
    this.show();
  }

  private frame(time: number): void {
    if (this.last === undefined) return;
    // A page that is left, or whose view is another, plays to nobody.
    if (!this.element.isConnected) return this.pause();
    const { end, now = 0 } = this.moment;
    const seconds = Math.min(kLongest, Math.max(kShortest, end));
    this.ahead += ((Math.max(0, time - this.last) / 1000) * end) / seconds;
    this.last = Math.max(time, this.last);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!still || this.ahead >= end / kJumps) {
      const next = now + this.ahead;
      this.ahead = 0;
      if (next >= end) this.last = undefined;
      this.moment.set(next);
    }
    if (this.playing) requestAnimationFrame((again) => this.frame(again));
  }

  private show(): void {
    const { now, end } = this.moment;
    const name = this.playing ? "Pause" : "Play";
    if (this.button.getAttribute("aria-label") !== name) {
      this.button.setAttribute("aria-label", name);
      this.button.textContent = this.playing ? "❚❚ Pause" : "▶ Play";
    }
    const text = now === undefined ? `${told(end, end)}, not started` : `${told(now, end)} of ${told(end, end)}`;
    this.line.textContent = text;
    this.slider.value = String(((now ?? 0) / end) * kSlider);
    this.slider.setAttribute("aria-valuetext", text);
  }
}
