import { h } from "./dom";

/** Hands a text to the clipboard; where a page has none of its own, by way of a selection. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = h("textarea", { "aria-hidden": "true", class: "unseen" });
    box.value = text;
    document.body.append(box);
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    return done;
  }
}

/** A button that copies a text and says that it has. */
export function copyButton(text: string, what: string): HTMLButtonElement {
  const button: HTMLButtonElement = h("button", { type: "button", class: "quiet copy", "aria-label": `Copy ${what}`, click: () => {
    void copy(text).then((done) => {
      button.textContent = done ? "Copied" : "Not copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  } }, "Copy");
  return button;
}
