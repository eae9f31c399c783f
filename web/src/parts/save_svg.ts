import { s } from "../base/dom";
import { download, fileName } from "../base/save";
import { colour, isToken } from "../base/theme";
import { textWidth } from "./surface";

const kStyle = `text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums}`;

export interface Key {
  title: string;
  colour: string;
}

/** Colours of the page's theme written out. */
const plain = (text: string): string => text.replace(/var\(--(\w+)\)/g, (all, name: string) => (isToken(name) ? colour(name) : all));

/** Words on as many lines as they need. */
function lines(text: string, width: number): string[] {
  const made: string[] = [""];
  for (const word of text.split(" ")) {
    const longer = `${made[made.length - 1]} ${word}`.trim();
    if (textWidth(longer, 14, true) <= width) made[made.length - 1] = longer;
    else made.push(word);
  }
  return made;
}

/** Title and legend, which stand beside the picture on the page, from the top down; how high they are. */
function heading(title: string, keys: Key[], width: number): { marks: SVGElement[]; height: number } {
  const marks: SVGElement[] = lines(title, width).map((line, i) => s("text", { x: 0, y: 16 + 18 * i, "font-size": 14, "font-weight": 600, fill: colour("text") }, line));
  let [x, y] = [0, 10 + 18 * marks.length];
  const titled = y;
  for (const { title: name, colour: fill } of keys) {
    const wide = 16 + textWidth(name, 12) + 16;
    if (x > 0 && x + wide > width) [x, y] = [0, y + 18];
    marks.push(s("rect", { x, y, width: 10, height: 10, fill }), s("text", { x: x + 16, y: y + 9, "font-size": 12, fill: colour("muted") }, name));
    x += wide;
  }
  return { marks, height: keys.length > 0 ? y + 20 : titled };
}

/** The picture as a file of its own: with its title, those of the legend's colours that are in it, and a background. */
export function svgText(picture: SVGSVGElement, title: string, keys: Key[]): string {
  const { width, height } = picture.viewBox.baseVal;
  const painted = plain(picture.outerHTML);
  const head = heading(title, keys.filter((key) => painted.includes(plain(key.colour))), width);
  const whole = head.height + height;
  const inner = s("g", { transform: `translate(0 ${head.height})` }, ...[...picture.cloneNode(true).childNodes]);
  const copy = s("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${whole}`, width, height: whole }, s("title", {}, title), s("style", {}, kStyle),
    s("rect", { width, height: whole, fill: colour("surface") }), ...head.marks, inner);
  // Links lead into the page, which the file has left.
  for (const link of [...copy.querySelectorAll("a")]) link.replaceWith(...link.childNodes);
  return plain(new XMLSerializer().serializeToString(copy));
}

export function saveSvg(picture: SVGSVGElement, title: string, keys: Key[]): void {
  download(fileName(title, "svg"), "image/svg+xml", svgText(picture, title, keys));
}
