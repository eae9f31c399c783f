import { keepInAddress, readAddress } from "../base/address";

/** What is seen of a picture over time, in seconds. */
export interface Stretch {
  from: number;
  to: number;
}

/** The moment that all pictures of a job show, and what they show of time and machine; its address holds it. */
export class Moment {
  private time: number | undefined;
  private readonly listeners = new Set<() => void>();
  private readonly kept = new Map<string, string>();
  private readonly restored = new Set<() => void>();

  /** `end`: the last moment, s. `step`: what is played again and again until then. */
  constructor(readonly base: string, readonly end: number, readonly step: number) {
    addEventListener("hashchange", () => this.follow());
    this.follow();
  }

  /** Absent until a reader sets one. */
  get now(): number | undefined {
    return this.time;
  }
  /** Where in a step the moment is. */
  get inStep(): number | undefined {
    if (this.time === undefined) return undefined;
    return this.time <= this.step ? this.time : this.time % this.step;
  }
  set(time: number): void {
    this.time = Math.min(this.end, Math.max(0, time));
    this.keep("t", String(Number(this.time.toPrecision(9))));
    for (const listener of this.listeners) listener();
  }
  /** Of the step that is shown. */
  setInStep(time: number): void {
    const begun = this.time === undefined || this.time <= this.step ? 0 : Math.floor(this.time / this.step) * this.step;
    this.set(begun + time);
  }
  onChange(listener: () => void): void {
    this.listeners.add(listener);
  }

  /** A text that a picture keeps in the address; undefined: nothing. */
  keep(name: string, value: string | undefined): void {
    if (value === undefined) this.kept.delete(name);
    else this.kept.set(name, value);
    keepInAddress(this.base, this.kept);
  }
  value(name: string): string | undefined {
    return this.kept.get(name);
  }
  /** A stretch under two names, if there is one within 0 to `end`. */
  stretch(from: string, to: string, end: number): Stretch | undefined {
    const [a, b] = [Number(this.kept.get(from)), Number(this.kept.get(to))];
    return a >= 0 && b > a && a < end ? { from: a, to: Math.min(b, end) } : undefined;
  }
  keepStretch(from: string, to: string, seen: Stretch | undefined): void {
    this.keep(from, seen && String(Number(seen.from.toPrecision(9))));
    this.keep(to, seen && String(Number(seen.to.toPrecision(9))));
  }
  /** Called when the address says something else than before. */
  onRestore(listener: () => void): void {
    this.restored.add(listener);
  }

  /** Takes over what the address says; an address that says nothing gets what is seen. */
  private follow(): void {
    const { base, kept } = readAddress();
    if (base !== this.base && !(base === "" && kept.size === 0)) return;
    if (kept.size === 0) {
      if (this.kept.size > 0) keepInAddress(this.base, this.kept);
      return;
    }
    this.kept.clear();
    for (const [name, value] of kept) this.kept.set(name, value);
    const time = kept.has("t") ? Number(kept.get("t")) : NaN;
    this.time = Number.isFinite(time) ? Math.min(this.end, Math.max(0, time)) : undefined;
    for (const listener of [...this.restored, ...this.listeners]) listener();
  }
}
