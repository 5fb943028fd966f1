// Makes elements. Text is always text: nothing here takes markup.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * An element with attributes and children. `onclick` and its like are listeners; a value of `false`, `null` or
 * `undefined` leaves an attribute out.
 * @param {string} tag @param {Record<string, unknown> | null} [attributes] @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...nodes(children.flat()));
  return element;
}

/** @param {Child[]} children @returns {(Node | string)[]} */
function nodes(children) {
  /** @type {(Node | string)[]} */
  const found = [];
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    found.push(typeof child === "object" ? child : String(child));
  }
  return found;
}

/**
 * A table with a head. Numbers are on the right. A table that is too wide scrolls, and then takes the focus.
 * @param {string} caption @param {{text: string, number?: boolean}[]} head @param {Child[][]} rows
 * @param {{sum?: Child[], chosen?: (row: number) => boolean}} [options]
 */
export function table(caption, head, rows, options = {}) {
  /** @param {Child[]} cells @param {string} tag */
  const cellsOf = (cells, tag) => cells.map((cell, at) => h(tag, { class: head[at]?.number ? "number" : null }, cell));
  const body = rows.map((cells, row) =>
    h("tr", { "aria-selected": options.chosen ? String(options.chosen(row)) : null }, cellsOf(cells, "td")));
  if (options.sum) body.push(h("tr", { class: "sum" }, cellsOf(options.sum, "td")));
  const wide = h("div", { class: "wide" },
    h("table", null,
      h("caption", null, caption),
      h("thead", null, h("tr", null, head.map((of) =>
        h("th", { scope: "col", class: of.number ? "number" : null }, of.text)))),
      h("tbody", null, body)));
  resized.observe(wide);
  return wide;
}

/** Without a place for the focus the keyboard cannot scroll. */
const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.setAttribute("tabindex", "0");
    else target.removeAttribute("tabindex");
  }
});

/** A button that looks like a link. @param {string} text @param {() => void} act @param {Record<string, unknown>} [more] */
export function link(text, act, more = {}) {
  return h("button", { type: "button", class: "link", onclick: act, ...more }, text);
}

/** A button that copies a text. @param {string} label @param {string} text */
export function copy(label, text) {
  const button = h("button", { type: "button", class: "copy" }, label);
  button.addEventListener("click", () => {
    const done = () => (button.textContent = "Copied");
    const by = () => byHand(text, done);
    if (navigator.clipboard && isSecureContext) navigator.clipboard.writeText(text).then(done, by);
    else by();
  });
  return button;
}

/** Copies where the page may not use the clipboard, as in a file. @param {string} text @param {() => void} done */
function byHand(text, done) {
  const area = /** @type {HTMLTextAreaElement} */ (h("textarea", { class: "hidden", "aria-hidden": "true" }));
  area.value = text;
  document.body.append(area);
  area.select();
  if (document.execCommand("copy")) done();
  area.remove();
}
