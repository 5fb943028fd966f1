// Before and after: the bays at either moment, and every pod that has another node. Before is the cluster in which the pending
// pods are not placed; for a change that is tried, the one in which they are placed without it.

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
    h("p", { class: "verdict" }, verdict(plan)),
    h("div", { class: "controls", role: "group", "aria-label": "Moment" }, 
      h("button", { type: "button", onclick: () => glide(slider, 0, go) }, "Before"), slider,
      h("button", { type: "button", onclick: () => glide(slider, 100, go) }, "After")));
}

/** What happens between the moments. @param {Plan} plan */
export function verdict(plan) {
  const { before, node } = plan.of.pods;
  const many = (/** @type {(pod: number) => boolean} */ is) => node.filter((_, pod) => is(pod)).length;
  const placed = many((pod) => node[pod] >= 0 && before[pod] < 0);
  const gone = many((pod) => node[pod] < 0 && before[pod] >= 0);
  const waits = plan.quay.length;
  const gets = `${counted(placed, "pod")} ${placed === 1 ? "gets" : "get"} a node`;
  const wait = `${count(waits)} ${waits === 1 ? "waits" : "wait"}`;
  if (!plan.base) return `${gets}, ${count(gone)} ${gone === 1 ? "is" : "are"} evicted, ${wait}.`;
  const moved = many((pod) => node[pod] >= 0 && before[pod] >= 0 && node[pod] !== before[pod]);
  return `With the change ${gets}, ${count(gone)} ${gone === 1 ? "loses" : "lose"} one, ${count(moved)} ${moved === 1 ? "has" : "have"} another one, ${wait} (${count(plan.base.quay.length)} without it).`;
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
  const { base } = plan;
  const score = (/** @type {Plan} */ of, /** @type {number} */ pod) => {
    const best = of.placements.get(pod)?.nodes[0];
    return best ? count(best.total) : "-";
  };
  const came = (/** @type {number} */ pod) => (base && base.podRow(plan.podName(pod)) < 0 ? "new" : "quay");
  const cells = rows.slice(0, MOVES).map((pod) => {
    const placement = plan.placements.get(pod);
    return [
      link(plan.podName(pod), () => state.set({ pod: plan.podName(pod) })),
      pods.before[pod] < 0 ? came(pod) : name(pods.before[pod]),
      pods.node[pod] < 0 ? plan.state(pod) : name(pods.node[pod]),
      ...(base ? [score(base, base.podRow(plan.podName(pod)))] : []),
      score(plan, pod),
      placement?.why ?? "",
    ];
  });
  if (cells.length === 0) return h("p", null, "No pod has another node than before.");
  const rest = rows.length - cells.length;
  return h("div", null,
    table("Pods with another node than before",
      [{ text: "Pod" }, { text: "Before" }, { text: "After" }, ...(base ? [{ text: "Score before", number: true }] : []),
        { text: "Score", number: true }, { text: "Why" }], cells),
    rest > 0 ? h("p", { class: "quiet" }, `and ${counted(rest, "other")}`) : null);
}
