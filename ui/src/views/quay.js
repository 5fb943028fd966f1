// The quay: pods that wait, by cause, the cause of the most pods first; and why one of them waits.

import { h, link, table } from "../dom.js";
import { age, amount, count, counted } from "../words.js";
import { explanation } from "./explained.js";

/**
 * @typedef {import("../plan.js").Plan} Plan
 * @typedef {import("../state.js").State} State
 * @typedef {import("../state.js").Choice} Choice
 */

/** How many pods of a cause are shown. */
const PODS = 120;

/** @param {Plan} plan @param {State} state @param {Choice} choice */
export function quay(plan, state, choice) {
  const { causes, gated, foreign } = plan.of;
  const pod = plan.podRow(choice.pod);
  const cause = choice.cause ? Number(choice.cause) - 1 : pod >= 0 ? plan.of.pods.cause[pod] : -1;
  const total = causes.reduce((sum, of) => sum + of.pods, 0);
  const parts = [];
  if (causes.length === 0) parts.push(h("p", { class: "verdict" }, "No pod waits for a node."));
  else {
    const rows = causes.map((of, at) => [
      count(of.pods), of.oldest, link(of.cause, () => state.set({ cause: String(at + 1), pod: "", set: "" })), of.wouldHelp,
    ]);
    parts.push(table("Pods that wait, by cause",
      [{ text: "Pods", number: true }, { text: "Oldest" }, { text: "Cause" }, { text: "What would help them all" }], rows,
      { sum: [count(total), "", "", ""], chosen: (row) => row === cause }));
  }
  if (gated.length > 0) {
    parts.push(table("Pods that are kept out of the queue",
      [{ text: "Pods", number: true }, { text: "By" }, { text: "Why" }, { text: "In the queue" }],
      gated.map((of) => [count(of.pods), of.by, of.reason, of.then])));
  }
  for (const of of foreign) {
    const near = of.nearest ? ` (did you mean ${of.nearest}?)` : "";
    parts.push(h("p", null, `Not ours to place: ${counted(of.pods, "pod")} of the scheduler ${of.schedulerName}${near}.`));
  }
  if (plan.base && causes.length > 0) parts.push(h("p", { class: "quiet" }, "What would help is not searched for a change that is tried."));
  const crates = cause < 0 ? null : containers(plan, state, cause, pod);
  if (crates) parts.push(crates);
  const shown = pod >= 0 ? pod : cause >= 0 ? exampleOf(plan, cause) : -1;
  if (shown >= 0) parts.push(one(plan, state, shown));
  return h("section", { class: "quay", "aria-label": "Quay" }, parts);
}

/** The pod that was explained for a cause. @param {Plan} plan @param {number} cause */
function exampleOf(plan, cause) {
  const example = plan.of.causes[cause]?.example;
  return example === undefined ? plan.of.pods.cause.indexOf(cause) : plan.of.explained[example].pod;
}

/** The pods of a cause as containers, oldest first. @param {Plan} plan @param {State} state @param {number} cause @param {number} pod */
function containers(plan, state, cause, pod) {
  const { pods } = plan.of;
  const all = pods.cause.flatMap((of, row) => (of === cause ? [row] : [])).sort((a, b) => pods.age[b] - pods.age[a]);
  const crates = all.slice(0, PODS).map((row) => {
    const wants = plan.of.resources.flatMap((name, at) => {
      const wanted = plan.request(row, at);
      return wanted > 0 ? [`${amount(name, wanted)} ${name}`] : [];
    });
    return h("li", null, h("button", {
      type: "button", class: "container", "aria-pressed": String(row === pod),
      onclick: () => state.set({ pod: plan.podName(row), cause: String(cause + 1) }),
    }, h("span", { class: "name" }, plan.podName(row)), h("span", { class: "quiet" }, wants.join(", ") || "requests nothing"),
      h("span", { class: "quiet" }, age(pods.age[row]))));
  });
  const rest = all.length - crates.length;
  return h("div", null,
    h("h2", null, `${counted(all.length, "pod")} for cause ${cause + 1}`),
    h("ul", { class: "containers" }, crates),
    rest > 0 ? h("p", { class: "quiet" }, `and ${counted(rest, "younger one")}`) : null);
}

/** @param {Plan} plan @param {State} state @param {number} pod */
function one(plan, state, pod) {
  const explained = plan.explanationFor(pod);
  const head = h("h2", null, plan.podName(pod));
  if (!explained) {
    const message = plan.string(plan.of.pods.message[pod]);
    return h("div", null, head, h("p", null, `${plan.state(pod)}${message ? `: ${message}` : ""}`));
  }
  return h("div", null, head, h("p", null,
    link("Colour the bays by what refuses it", () => state.set({ view: "bays", pod: plan.podName(pod), colour: "verdict" })), " · ",
    link("See it as a matrix", () => state.set({ view: "matrix", pod: plan.podName(pod) }))),
  explanation(plan, state, explained, pod));
}
