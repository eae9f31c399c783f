import { s } from "../base/dom";

/** What canvas pictures draw on, so that the same code makes their SVG. Colours are #rrggbb, lengths CSS pixels. */
export interface Surface {
  rect(x: number, y: number, width: number, height: number, fill: string, stroke?: string, radius?: number): void;
  line(x1: number, y1: number, x2: number, y2: number, stroke: string, width?: number): void;
  /** `limit`: clips what is wider; text in the middle of its height. */
  text(text: string, x: number, y: number, fill: string, options?: TextOptions): void;
}
export interface TextOptions {
  size?: number;
  anchor?: "start" | "middle" | "end";
  bold?: boolean;
  limit?: number;
}

export const kFont = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const ruler = document.createElement("canvas").getContext("2d")!;

/** Width of a text in CSS pixels. */
export function textWidth(text: string, size = 12, bold = false): number {
  ruler.font = `${bold ? "600 " : ""}${size}px ${kFont}`;
  return ruler.measureText(text).width;
}

/** The text, cut with an ellipsis to what fits; empty where not even three letters do. */
export function fitted(text: string, limit: number, size = 12): string {
  if (textWidth(text, size) <= limit) return text;
  let count = Math.min(text.length - 1, Math.floor(limit / (size * 0.45)));
  while (count > 2 && textWidth(`${text.slice(0, count)}…`, size) > limit) --count;
  return count > 2 && textWidth(`${text.slice(0, count)}…`, size) <= limit ? `${text.slice(0, count)}…` : "";
}

export class CanvasSurface implements Surface {
  constructor(private readonly context: CanvasRenderingContext2D) {}

  rect(x: number, y: number, width: number, height: number, fill: string, stroke?: string, radius = 0): void {
    const c = this.context;
    c.fillStyle = fill;
    if (radius > 0 || stroke) {
      c.beginPath();
      c.roundRect(x, y, width, height, radius);
      c.fill();
      if (stroke) {
        c.strokeStyle = stroke;
        c.lineWidth = 1;
        c.stroke();
      }
    } else {
      c.fillRect(x, y, width, height);
    }
  }

  line(x1: number, y1: number, x2: number, y2: number, stroke: string, width = 1): void {
    const c = this.context;
    c.strokeStyle = stroke;
    c.lineWidth = width;
    c.beginPath();
    c.moveTo(x1, y1);
    c.lineTo(x2, y2);
    c.stroke();
  }

  text(text: string, x: number, y: number, fill: string, o: TextOptions = {}): void {
    const c = this.context;
    c.font = `${o.bold ? "600 " : ""}${o.size ?? 12}px ${kFont}`;
    c.fillStyle = fill;
    c.textBaseline = "middle";
    c.textAlign = o.anchor === "middle" ? "center" : (o.anchor ?? "start");
    c.fillText(o.limit === undefined ? text : fitted(text, o.limit, o.size), x, y);
  }
}

export class SvgSurface implements Surface {
  readonly element: SVGSVGElement;

  constructor(width: number, height: number) {
    this.element = s("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
  }

  rect(x: number, y: number, width: number, height: number, fill: string, stroke?: string, radius = 0): void {
    this.element.append(s("rect", { x: round(x), y: round(y), width: round(width), height: round(height), fill, stroke, rx: radius || undefined }));
  }

  line(x1: number, y1: number, x2: number, y2: number, stroke: string, width = 1): void {
    this.element.append(s("line", { x1: round(x1), y1: round(y1), x2: round(x2), y2: round(y2), stroke, "stroke-width": width }));
  }

  text(text: string, x: number, y: number, fill: string, o: TextOptions = {}): void {
    const shown = o.limit === undefined ? text : fitted(text, o.limit, o.size);
    if (shown === "") return;
    this.element.append(s("text", { x: round(x), y: round(y), fill, "font-size": o.size ?? 12, "text-anchor": o.anchor,
      "dominant-baseline": "central", "font-weight": o.bold ? 600 : undefined }, shown));
  }
}

const round = (value: number): number => Math.round(value * 100) / 100;

/** A canvas of that size in CSS pixels, sharp on every screen, put into the host in place of what was there. */
export function canvasIn(host: HTMLElement, width: number, height: number): { canvas: HTMLCanvasElement; surface: CanvasSurface } {
  const old = host.querySelector("canvas");
  const canvas = old ?? document.createElement("canvas");
  if (!old) host.replaceChildren(canvas);
  const scale = Math.max(1, devicePixelRatio);
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d")!;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return { canvas, surface: new CanvasSurface(context) };
}
