// The matrix: rules by sets of nodes that the same rules refuse. Where one rule refuses alone, it says so.

import { h, link, table } from "../dom.js";
import { inOrder } from "../plan.js";
import { count } from "../words.js";
import { choose } from "./bays.js";

/**
 * @typedef {import("../plan.js").Plan} Plan
 * @typedef {import("../state.js").State} State
 * @typedef {import("../state.js").Choice} Choice
 */

/** How many sets of nodes have a column. */
const COLUMNS = 24;

/** @param {Plan} plan @param {State} state @param {Choice} choice */
export function matrix(plan, state, choice) {
  const named = plan.podRow(choice.pod);
  const chosen = named >= 0 ? named : plan.of.focus ?? -1;
  const explained = (chosen >= 0 && plan.explanationFor(chosen)) || plan.of.explained[0];
  if (!explained) {
    return h("section", { "aria-label": "Matrix" }, h("p", null, "No pod is explained: none waits because of nodes."));
  }
  const options = plan.of.explained.map((of) => ({ value: plan.podName(of.pod), text: plan.podName(of.pod) }));
  const sets = explained.sets.slice(0, COLUMNS);
  const head = [{ text: "Rule" }, ...sets.map((_, at) => ({ text: `Set ${at + 1}`, number: true })),
    ...(explained.fits > 0 ? [{ text: "Fits", number: true }] : []), { text: "Refuses", number: true }, { text: "Alone", number: true }];
  const see = (/** @type {number} */ set, /** @type {string} */ text, /** @type {string} */ label) =>
    link(text, () => state.set({ view: "bays", pod: plan.podName(explained.pod), colour: "verdict", set: String(set) }), { "aria-label": label });
  const rows = explained.rules.map((rule) => [
    rule.rule,
    ...sets.map((set, at) => {
      if (!set.rules.includes(rule.rule)) return h("span", { class: "quiet" }, "·");
      const alone = set.rules.length === 1;
      const text = alone ? `${count(set.nodes)} ALONE` : count(set.nodes);
      return see(at, text, `${text}: the nodes that ${inOrder(explained, set.rules).join(", ")} refuse`);
    }),
    ...(explained.fits > 0 ? [h("span", { class: "quiet" }, "·")] : []),
    count(rule.refuses), h("strong", null, count(rule.alone)),
  ]);
  const sum = ["Nodes", ...sets.map((set) => count(set.nodes)), ...(explained.fits > 0 ? [count(explained.fits)] : []),
    count(explained.nodes), ""];
  const rest = explained.sets.slice(COLUMNS);
  return h("section", { class: "matrix", "aria-label": "Matrix" },
    h("div", { class: "controls" },
      choose("Pod", "matrix-pod", options, plan.podName(explained.pod), (pod) => state.set({ pod, set: "" }))),
    h("p", { class: "verdict" }, explained.verdict),
    table("Rules by sets of nodes with the same reasons; a number is how many nodes", head, rows, { sum }),
    rest.length > 0
      ? h("p", { class: "quiet" }, `${count(rest.length)} smaller sets hold the other ${count(rest.reduce((of, set) => of + set.nodes, 0))} nodes.`)
      : null,
    explained.funnel.length > 0
      ? h("p", null, `Nodes left after each rule: ${count(explained.nodes)} `, explained.funnel.map(([rule, left]) => `→ ${rule} ${count(left)} `).join(""))
      : null);
}
