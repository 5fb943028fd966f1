// Before and after the pending pods were placed: the bays at either moment, and every pod that has another node.

import { h, link, table } from "../dom.js";
import { count, counted } from "../words.js";
import { momentOf } from "./bays.js";

/**
 * @typedef {import("../plan.js").Plan} Plan
 * @typedef {import("../state.js").State} State
 * @typedef {import("../state.js").Choice} Choice
 */

/** How many moves are shown. */
const MOVES = 200;

/**
 * The slider between the moments, and what happened.
 * @param {Plan} plan @param {State} state @param {Choice} choice @param {(choice: Choice) => void} moved
 */
export function moments(plan, state, choice, moved) {
  const { pods } = plan.of;
  const placed = pods.node.filter((node, pod) => node >= 0 && pods.before[pod] < 0).length;
  const gone = pods.node.filter((node, pod) => node < 0 && pods.before[pod] >= 0).length;
  const slider = /** @type {HTMLInputElement} */ (h("input", {
    type: "range", id: "moment", min: "0", max: "100", step: "5", value: String(momentOf(choice) * 100), "aria-label": "From before to after",
    oninput: () => go(Number(slider.value)),
  }));
  const go = (/** @type {number} */ moment) => {
    slider.value = String(moment);
    state.adjust({ moment: moment === 0 ? "" : String(moment) });
    moved(state.choice);
  };
  return h("div", { class: "moments" },
    h("p", { class: "verdict" }, `${counted(placed, "pod")} ${placed === 1 ? "gets" : "get"} a node, ${count(gone)} ${gone === 1 ? "is" : "are"} evicted, ${count(plan.quay.length)} ${plan.quay.length === 1 ? "waits" : "wait"}.`),
    h("div", { class: "controls", role: "group", "aria-label": "Moment" }, 
      h("button", { type: "button", onclick: () => glide(slider, 0, go) }, "Before"), slider,
      h("button", { type: "button", onclick: () => glide(slider, 100, go) }, "After")));
}

/**
 * Moves the slider in half a second; at once for those who want no motion.
 * @param {HTMLInputElement} slider @param {number} to @param {(moment: number) => void} go
 */
function glide(slider, to, go) {
  const from = Number(slider.value);
  const began = performance.now();
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return go(to);
  const step = () => {
    const part = Math.min(1, (performance.now() - began) / 500);
    go(Math.round(from + (to - from) * part));
    if (part < 1) requestAnimationFrame(step);
  };
  step();
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
