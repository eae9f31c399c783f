import { colour, isToken } from "./theme";

function download(name: string, type: string, content: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export const fileName = (title: string, ending: string): string =>
  `${title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "picture"}.${ending}`;

const kStyle = `text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums}`;

/** The picture as a file of its own: colours of the page's theme written out, title and background added. */
export function svgText(picture: SVGSVGElement, title: string): string {
  const copy = picture.cloneNode(true) as SVGSVGElement;
  const { width, height } = picture.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const add = (tag: string, text?: string): Element => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const paper = add("rect");
  for (const [name, value] of Object.entries({ width, height, fill: colour("surface") })) paper.setAttribute(name, String(value));
  copy.prepend(add("title", title), add("style", kStyle), paper);
  // Links lead into the page, which the file has left.
  for (const link of [...copy.querySelectorAll("a")]) link.replaceWith(...link.childNodes);
  return new XMLSerializer().serializeToString(copy).replace(/var\(--(\w+)\)/g, (all, name: string) => (isToken(name) ? colour(name) : all));
}

export function saveSvg(picture: SVGSVGElement, title: string): void {
  download(fileName(title, "svg"), "image/svg+xml", svgText(picture, title));
}

/** RFC 4180. */
export function csvText(rows: (string | number | null)[][]): string {
  const cell = (value: string | number | null): string => {
    const text = value === null ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",") + "\r\n").join("");
}

export function saveCsv(rows: (string | number | null)[][], title: string): void {
  download(fileName(title, "csv"), "text/csv", csvText(rows));
}
