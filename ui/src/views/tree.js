// A condition with the values of its parts, as `explain --node` draws it.

import { h } from "../dom.js";

/** @typedef {import("../plan.js").Condition} Condition */

/** @param {Condition} of */
export function tree(of) {
  return h("ul", { class: "tree" }, condition(of));
}

/** A condition with its parts. @param {Condition} of @returns {HTMLElement} */
function condition(of) {
  const truth = of.truth === true ? "true" : of.truth === false ? "false" : "";
  const word = truth
    ? h("span", { class: `truth ${truth === "true" ? "good" : "bad"}` }, truth)
    : null;
  const value = !truth && of.value !== null && of.value !== of.text ? h("strong", null, ` ${of.value}`) : null;
  // A literal is its own value.
  const parts = of.parts.filter((part) => part.parts.length > 0 || part.value !== part.text);
  return h("li", { class: of.reached ? null : "quiet" }, word, h("code", null, of.text), value,
    parts.length > 0 ? h("ul", null, parts.map(condition)) : null);
}
