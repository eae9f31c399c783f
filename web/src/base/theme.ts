/**
 * Every colour of the page: light, dark. One thing has one colour everywhere; neighbours also differ in lightness, so
 * that they can be told apart without seeing colours (after Okabe and Ito).
 */
const kTokens = {
  background: ["#f6f7f9", "#12151a"],
  surface: ["#ffffff", "#1a1e25"],
  raised: ["#eef0f4", "#252b34"],
  line: ["#d9dde4", "#333b47"],
  grid: ["#e8ebf0", "#2a313b"],
  text: ["#1b212b", "#e8ebf0"],
  muted: ["#566172", "#a3adbb"],
  accent: ["#0b5cad", "#7ab8ff"],
  good: ["#0a6e4f", "#5ad0a5"],
  bad: ["#b3361b", "#ff9b80"],
  fair: ["#8a5a00", "#f0bd56"],
  compute: ["#2f74c0", "#5b9ae0"],
  attention: ["#1c8fb0", "#6fd0ea"],
  memory: ["#8fb8e3", "#a9cdf2"],
  allreduce: ["#b8430a", "#d9642b"],
  allgather: ["#e08a1e", "#f0a040"],
  reducescatter: ["#f2c14e", "#f5d27a"],
  alltoall: ["#b5538f", "#d685b4"],
  sendrecv: ["#12876a", "#2fae8b"],
  receive: ["#7fcbb2", "#9be0c9"],
  optimizer: ["#4a1fa8", "#7a4ff0"],
  idle: ["#b4bcc8", "#5c6675"],
  backward: ["#1d4580", "#3a6fc0"],
  set: ["#c7ad8a", "#a08a6c"],
  weights: ["#2f74c0", "#5b9ae0"],
  gradients: ["#e08a1e", "#f0a040"],
  activations: ["#12876a", "#2fae8b"],
  other: ["#b4bcc8", "#5c6675"],
  series1: ["#2f74c0", "#5b9ae0"],
  series2: ["#d9720f", "#f0a040"],
  series3: ["#12876a", "#3cc09b"],
  series4: ["#a83f80", "#e08fc0"],
  series5: ["#6f5bb5", "#a896e6"],
  series6: ["#8a6d00", "#e3c44a"],
  series7: ["#1c8fb0", "#6fd0ea"],
  series8: ["#7a4a32", "#c9947a"],
} as const;

export type Token = keyof typeof kTokens;
export type Theme = "light" | "dark";

let current: Theme = "light";
const listeners = new Set<() => void>();

export const colour = (token: Token): string => kTokens[token][current === "light" ? 0 : 1];
/** For SVG and styles: follows the theme by itself. */
export const css = (token: Token): string => `var(--${token})`;
export const isToken = (name: string): name is Token => name in kTokens;
export const theme = (): Theme => current;
/** Called whenever colours have changed. */
export const onTheme = (listener: () => void): void => void listeners.add(listener);

const kKinds: Record<string, Token> = {
  compute: "compute", exposed_all_reduce: "allreduce", exposed_all_gather: "allgather", exposed_reduce_scatter: "reducescatter",
  exposed_all_to_all: "alltoall", exposed_send_recv: "sendrecv", optimizer: "optimizer", idle: "idle",
  gradient_reduction: "reducescatter", parameter_gather: "allgather", embedding_reduction: "allreduce", gradient_norm: "series8", host: "series6",
  gemm: "compute", attention: "attention", memory: "memory", collective: "allgather", send_recv: "sendrecv", wait: "idle",
  communication: "allgather", device_communication: "alltoall", copy: "receive", set: "set", other: "other",
  elementwise: "memory", norm: "series5", softmax: "series4", reduction: "series8", embedding: "series3", convolution: "backward",
  pooling: "allreduce", moe: "reducescatter", cpu: "series6", queued: "muted",
  forward: "compute", backward: "backward", backward_weight: "series5", send: "sendrecv", receive: "receive",
  all_reduce: "allreduce", all_gather: "allgather", reduce_scatter: "reducescatter", all_to_all: "alltoall",
  weights: "weights", gradients: "gradients", activations: "activations",
};
export const seriesToken = (index: number): Token => `series${(index % 8) + 1}` as Token;
/** The colour of a thing by the document's name for it; of things without one, by their place where they have one. */
export const kindToken = (name: string, index?: number): Token =>
  kKinds[name.replace(/_(bytes|s)$/, "").replace(/([a-z])([A-Z])/g, "$1_$2").replace(/[-/]/g, "_").toLowerCase()] ?? (index === undefined ? "other" : seriesToken(index));

function apply(next: Theme): void {
  current = next;
  document.documentElement.dataset.theme = next;
  const style = document.documentElement.style;
  for (const token of Object.keys(kTokens) as Token[]) style.setProperty(`--${token}`, colour(token));
  for (const listener of listeners) listener();
}

/** Follows the system until someone chooses; paper is always light. */
export function startTheme(): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen: Theme | undefined;
  const wanted = (): Theme => chosen ?? (system.matches ? "dark" : "light");
  system.addEventListener("change", () => apply(wanted()));
  // The class gives the page the width of paper, so that pictures are drawn for it and not shrunk.
  let folded: HTMLDetailsElement[] = [];
  const printing = (now: boolean): void => {
    if (now) folded = [...document.querySelectorAll<HTMLDetailsElement>("details[data-paper]:not([open])")];
    for (const one of folded) one.open = now;
    document.documentElement.classList.toggle("printing", now);
    apply(now ? "light" : wanted());
  };
  addEventListener("beforeprint", () => printing(true));
  addEventListener("afterprint", () => printing(false));
  apply(wanted());
  toggle = () => {
    chosen = current === "light" ? "dark" : "light";
    apply(chosen);
  };
}
let toggle = (): void => {};
export const toggleTheme = (): void => toggle();

/** Black or white, whichever reads better on a colour given as #rrggbb. */
export function inkOn(background: string): string {
  const channel = (at: number): number => {
    const value = parseInt(background.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  const luminance = 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
  return luminance > 0.18 ? "#000000" : "#ffffff";
}

/** Between two colours given as #rrggbb: `share` of the second. */
export function mixed(a: string, b: string, share: number): string {
  const channel = (at: number): string => {
    const [from, to] = [parseInt(a.slice(at, at + 2), 16), parseInt(b.slice(at, at + 2), 16)];
    return Math.round(from + (to - from) * share).toString(16).padStart(2, "0");
  };
  return `#${channel(1)}${channel(3)}${channel(5)}`;
}
