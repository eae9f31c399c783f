import { s } from "../base/dom";
import { download, fileName } from "../base/save";
import { colour, isToken } from "../base/theme";
import { textWidth } from "./surface";

const kStyle = `text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums}`;

export interface Key {
  title: string;
  colour: string;
}

/** Title and legend, which stand beside the picture on the page, from the top down; how high they are. */
function heading(title: string, keys: Key[], width: number): { marks: SVGElement[]; height: number } {
  const marks: SVGElement[] = [s("text", { x: 0, y: 16, "font-size": 14, "font-weight": 600, fill: colour("text") }, title)];
  let [x, y] = [0, 28];
  for (const { title: name, colour: fill } of keys) {
    const wide = 16 + textWidth(name, 12) + 16;
    if (x > 0 && x + wide > width) [x, y] = [0, y + 18];
    marks.push(s("rect", { x, y, width: 10, height: 10, fill }), s("text", { x: x + 16, y: y + 9, "font-size": 12, fill: colour("muted") }, name));
    x += wide;
  }
  return { marks, height: keys.length > 0 ? y + 20 : 28 };
}

/** The picture as a file of its own: colours of the page's theme written out, title, legend and background added. */
export function svgText(picture: SVGSVGElement, title: string, keys: Key[]): string {
  const { width, height } = picture.viewBox.baseVal;
  const head = heading(title, keys, width);
  const whole = head.height + height;
  const inner = s("g", { transform: `translate(0 ${head.height})` }, ...[...picture.cloneNode(true).childNodes]);
  const copy = s("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${whole}`, width, height: whole }, s("title", {}, title), s("style", {}, kStyle),
    s("rect", { width, height: whole, fill: colour("surface") }), ...head.marks, inner);
  // Links lead into the page, which the file has left.
  for (const link of [...copy.querySelectorAll("a")]) link.replaceWith(...link.childNodes);
  return new XMLSerializer().serializeToString(copy).replace(/var\(--(\w+)\)/g, (all, name: string) => (isToken(name) ? colour(name) : all));
}

export function saveSvg(picture: SVGSVGElement, title: string, keys: Key[]): void {
  download(fileName(title, "svg"), "image/svg+xml", svgText(picture, title, keys));
}
