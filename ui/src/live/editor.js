// A text that is edited, with what is wrong with it marked at its places.

import { h } from "../dom.js";

/**
 * @typedef {{line: number, column: number}} Place
 * @typedef {{code: string, severity: string, message: string, help?: string, file: string, start: Place, end: Place,
 *   labels: {message: string, start: Place, end: Place}[]}} Said
 */

export class Editor {
  /** @param {(text: string) => void} wrote */
  constructor(wrote) {
    this.marks = h("pre", { class: "marks", "aria-hidden": "true" });
    this.area = /** @type {HTMLTextAreaElement} */ (h("textarea", {
      id: "text-area", "aria-label": "Text of a policy or a pod", spellcheck: "false", autocomplete: "off", rows: "18", wrap: "off",
      oninput: () => {
        // Marks are of the text before.
        this.marks.replaceChildren(this.area.value);
        wrote(this.area.value);
      },
      onscroll: () => this.follow(),
    }));
    this.element = h("div", { class: "editor" }, this.marks, this.area);
  }

  /** @param {string} text @param {Said[]} said */
  show(text, said) {
    if (this.area.value !== text) this.area.value = text;
    const ranges = said.map((of) => ({ kind: of.severity, from: offset(text, of.start), to: offset(text, of.end) }))
      .sort((a, b) => a.from - b.from || b.to - a.to);
    const parts = [];
    let end = 0;
    for (const { kind, from, to } of ranges) {
      if (from < end) continue;
      // What is missing has no letters of its own.
      const until = Math.min(text.length, Math.max(to, from + 1));
      parts.push(text.slice(end, from), h("mark", { class: kind }, text.slice(from, until) || " "));
      end = until;
    }
    // A line end at the end of a pre is not shown without something behind it.
    this.marks.replaceChildren(...parts, `${text.slice(end)}\n`);
    this.follow();
  }

  /** Selects what a diagnostic is about. @param {Said} of */
  select(of) {
    this.area.focus();
    this.area.setSelectionRange(offset(this.area.value, of.start), offset(this.area.value, of.end));
    const lines = this.area.value.split("\n").length;
    this.area.scrollTop = (this.area.scrollHeight / lines) * Math.max(0, of.start.line - 5);
  }

  follow() {
    this.marks.scrollTop = this.area.scrollTop;
    this.marks.scrollLeft = this.area.scrollLeft;
  }
}

/** Where a place is in a text: its columns count characters, not halves of them. @param {string} text @param {Place} place */
function offset(text, { line, column }) {
  let start = 0;
  for (let at = 1; at < line; at++) {
    const end = text.indexOf("\n", start);
    if (end < 0) return text.length;
    start = end + 1;
  }
  const end = text.indexOf("\n", start);
  const letters = [...text.slice(start, end < 0 ? text.length : end)];
  return start + letters.slice(0, column - 1).join("").length;
}
