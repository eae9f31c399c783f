import { h, newId } from "../base/dom";
import { plural, quantity } from "../base/format";
import { saveCsv } from "../base/save";

export type Cell = string | number | null;
export interface Column {
  title: string;
  /** Of numbers: their unit, as `quantity` knows it; its presence makes a column numeric. */
  unit?: string;
  /** Offers a choice of this column's values. */
  facet?: boolean;
  /** Long text: takes what width is left. */
  wide?: boolean;
}
export interface TableData {
  columns: Column[];
  rows: Cell[][];
}
export interface TableOptions {
  /** What the rows are: "points". */
  rows?: string;
  filter?: boolean;
  /** Where the row's first cell leads. */
  href?: (row: Cell[]) => string | undefined;
  /** A class by value, for what is good or bad. */
  mark?: (value: Cell, column: number) => string | undefined;
  /** What stands in a cell in place of its value, which is what is saved. */
  text?: (value: Cell, row: Cell[]) => string | undefined;
  sorted?: { column: number; descending: boolean };
  /** How many rows are shown before someone asks for all. */
  limit?: number;
}

const isNumeric = (column: Column): boolean => column.unit !== undefined;

function compare(a: Cell | undefined, b: Cell | undefined): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

/** Empty cells stay last, whichever way. */
export function sortRows(rows: Cell[][], column: number, descending: boolean): Cell[][] {
  const known = rows.filter((row) => row[column] !== null && row[column] !== "");
  const rest = rows.filter((row) => row[column] === null || row[column] === "");
  known.sort((a, b) => (descending ? -1 : 1) * compare(a[column], b[column]));
  return [...known, ...rest];
}

function csvRows(data: TableData, rows: Cell[][]): Cell[][] {
  const head = data.columns.map((column) => (column.unit ? `${column.title} (${column.unit === "1" ? "share" : column.unit})` : column.title));
  return [head, ...rows];
}

/** A table that sorts by any column, filters, and can be saved. */
export function table(title: string, data: TableData, options: TableOptions = {}): HTMLElement {
  const body = h("tbody");
  const count = h("span", { class: "count", role: "status" });
  const more = h("button", { type: "button", class: "more", click: () => { limit = Infinity; show(); } });
  const chosen = new Map<number, string>();
  let limit = options.limit ?? 50;
  let sorted = options.sorted;
  let wanted = "";

  const matching = (): Cell[][] => {
    const rows = data.rows.filter((row) => [...chosen].every(([column, value]) => value === "" || String(row[column]) === value)
      && (wanted === "" || row.some((cell) => String(cell).toLowerCase().includes(wanted))));
    return sorted ? sortRows(rows, sorted.column, sorted.descending) : rows;
  };
  const cellOf = (row: Cell[], value: Cell, at: number): HTMLTableCellElement => {
    const column = data.columns[at]!;
    const text = options.text?.(value, row) ?? (typeof value === "number" ? quantity(value, column.unit) : (value ?? "–"));
    const href = at === 0 ? options.href?.(row) : undefined;
    const long = column.wide || String(text).length > 44;
    const classes = [isNumeric(column) ? "number" : long ? "wide" : "", options.mark?.(value, at) ?? ""].join(" ").trim();
    return h("td", { class: classes || undefined, "data-value": typeof value === "number" ? value : undefined },
      href ? h("a", { href }, text) : text);
  };
  const heads = data.columns.map((column, at) => {
    const sort = (): void => {
      const descending = sorted?.column === at ? !sorted.descending : isNumeric(column);
      sorted = { column: at, descending };
      show();
    };
    return h("th", { scope: "col", class: isNumeric(column) ? "number" : undefined },
      h("button", { type: "button", class: "sort", click: sort }, column.title));
  });
  const show = (): void => {
    const rows = matching();
    body.replaceChildren(...rows.slice(0, limit).map((row) => h("tr", {}, ...row.map((value, at) => cellOf(row, value, at)))));
    const noun = options.rows ?? "rows";
    count.textContent = rows.length === data.rows.length ? plural(rows.length, noun.replace(/s$/, "")) : `${rows.length} of ${data.rows.length} ${noun}`;
    more.hidden = rows.length <= limit;
    more.textContent = `Show all ${rows.length.toLocaleString("en")} ${noun}`;
    heads.forEach((head, at) => head.setAttribute("aria-sort", sorted?.column !== at ? "none" : sorted.descending ? "descending" : "ascending"));
  };
  show();

  return h("div", { class: "table" },
    h("div", { class: "table-tools" }, ...tools(title, data, options, chosen, (text) => { wanted = text; show(); }, show), count,
      h("button", { type: "button", class: "quiet save-csv", click: () => saveCsv(csvRows(data, matching()), title) }, "CSV")),
    h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": `${title}, table` },
      h("table", {}, h("caption", { class: "unseen" }, title), h("thead", {}, h("tr", {}, ...heads)), body)),
    more);
}

function tools(title: string, data: TableData, options: TableOptions, chosen: Map<number, string>,
  filter: (text: string) => void, show: () => void): HTMLElement[] {
  const made: HTMLElement[] = [];
  if (options.filter) {
    const id = newId("filter");
    const box: HTMLInputElement = h("input", { id, type: "search", placeholder: "Filter", "aria-label": `Filter ${title}`,
      input: () => filter(box.value.trim().toLowerCase()) });
    made.push(box);
  }
  data.columns.forEach((column, at) => {
    if (!column.facet) return;
    const values = [...new Set(data.rows.map((row) => String(row[at] ?? "")))].filter((value) => value !== "").sort((a, b) => compare(a, b));
    if (values.length < 2) return;
    const box: HTMLSelectElement = h("select", { "aria-label": column.title, change: () => { chosen.set(at, box.value); show(); } },
      h("option", { value: "" }, `${column.title}: all`), ...values.map((value) => h("option", { value }, value)));
    made.push(box);
  });
  return made;
}
