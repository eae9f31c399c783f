type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | undefined | ((event: never) => void)>;

const kSvg = "http://www.w3.org/2000/svg";

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value as unknown as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined && child !== false) element.append(child);
}

/** An HTML element; functions among the attributes listen to the event of that name. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

/** An SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(kSvg, tag);
  fill(element, attributes, children);
  return element;
}

let last_id = 0;
/** An id no other element has. */
export const newId = (prefix: string): string => `${prefix}-${++last_id}`;

/** A choice of one: label and select box. */
export function choice(
  label: string,
  options: { value: string; title: string }[],
  chosen: string,
  changed: (value: string) => void,
): HTMLLabelElement {
  const id = newId("choice");
  const box = h(
    "select",
    { change: () => changed(box.value), "aria-labelledby": id },
    ...options.map((option) => h("option", { value: option.value, selected: option.value === chosen }, option.title)),
  );
  return h("label", { class: "choice" }, h("span", { id }, label), box);
}
