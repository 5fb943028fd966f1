// Before and after the pending pods were placed: the bays at either moment, and every pod that has another node.

import { h, link, table } from "../dom.js";
import { count, counted } from "../words.js";

/**
 * @typedef {import("../plan.js").Plan} Plan
 * @typedef {import("../state.js").State} State
 * @typedef {import("../state.js").Choice} Choice
 */

/** How many moves are shown. */
const MOVES = 200;

/** @param {Plan} plan @param {State} state @param {Choice} choice */
export function moments(plan, state, choice) {
  const after = choice.moment === "after";
  const { pods } = plan.of;
  const placed = pods.node.filter((node, pod) => node >= 0 && pods.before[pod] < 0).length;
  const gone = pods.node.filter((node, pod) => node < 0 && pods.before[pod] >= 0).length;
  const button = (/** @type {string} */ text, /** @type {boolean} */ on, /** @type {string} */ moment) =>
    h("button", { type: "button", "aria-pressed": String(on), onclick: () => state.set({ moment }) }, text);
  return h("div", { class: "moments" },
    h("p", { class: "verdict" }, `${counted(placed, "pod")} ${placed === 1 ? "gets" : "get"} a node, ${count(gone)} ${gone === 1 ? "is" : "are"} evicted, ${count(plan.quay.length)} ${plan.quay.length === 1 ? "waits" : "wait"}.`),
    h("div", { class: "controls", role: "group", "aria-label": "Moment" }, button("Before", !after, ""), button("After", after, "after")));
}

/** @param {Plan} plan @param {State} state */
export function moves(plan, state) {
  const { pods, nodes } = plan.of;
  const rows = pods.name.flatMap((_, pod) => (pods.node[pod] === pods.before[pod] ? [] : [pod]));
  const name = (/** @type {number} */ node) => nodes.name[node] ?? "";
  const cells = rows.slice(0, MOVES).map((pod) => {
    const placement = plan.placements.get(pod);
    return [
      link(plan.podName(pod), () => state.set({ pod: plan.podName(pod) })),
      pods.before[pod] < 0 ? "quay" : name(pods.before[pod]),
      pods.node[pod] < 0 ? plan.state(pod) : name(pods.node[pod]),
      placement?.nodes[0] ? count(placement.nodes[0].total) : "-",
      placement?.why ?? "",
    ];
  });
  if (cells.length === 0) return h("p", null, "No pod has another node than before.");
  const rest = rows.length - cells.length;
  return h("div", null,
    table("Pods with another node than before",
      [{ text: "Pod" }, { text: "Before" }, { text: "After" }, { text: "Score", number: true }, { text: "Why" }], cells),
    rest > 0 ? h("p", { class: "quiet" }, `and ${counted(rest, "other")}`) : null);
}
