/**
 * The page's address says what is seen: "#run=a&at=timeline&t=0.12&from=0.1&to=0.2" is view "run=a", section "timeline",
 * and what that view keeps of itself under names of one word. Views write there while one moves something: in place, so
 * that going back leads to where one came from.
 */
export interface Address {
  base: string;
  at: string | undefined;
  kept: Map<string, string>;
}

export function readAddress(): Address {
  const [base = "", ...parts] = location.hash.slice(1).split("&");
  const kept = new Map(parts.flatMap((part): [string, string][] => {
    const [name, value] = part.split("=");
    return name && value !== undefined ? [[name, decoded(value)]] : [];
  }));
  const at = kept.get("at");
  kept.delete("at");
  return { base, at, kept };
}

/** A broken escape is the text itself. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Browsers refuse more than a hundred changes in half a minute. */
const kPause = 350;
let waiting: number | undefined;
let wanted: { base: string; kept: Map<string, string> } | undefined;

function write(): void {
  waiting = undefined;
  const { base, at } = readAddress();
  // The reader may have gone on to another view.
  if (!wanted || (base !== "" && base !== wanted.base)) return;
  const parts = [wanted.base, ...(at ? [`at=${at}`] : []), ...[...wanted.kept].map(([name, value]) => `${name}=${encodeURIComponent(value)}`)];
  history.replaceState(history.state, "", `#${parts.join("&")}`);
}

/** What a view keeps of itself, in place of what it kept before. */
export function keepInAddress(base: string, kept: Map<string, string>): void {
  wanted = { base, kept };
  waiting ??= window.setTimeout(write, kPause);
}
