// Why a pod is where it is: the scores of its node and of the best of the others, part by part.

import { copy, h, table } from "../dom.js";
import { count, counted } from "../words.js";
import { choose } from "./bays.js";

/**
 * @typedef {import("../plan.js").Plan} Plan
 * @typedef {import("../plan.js").Placement} Placement
 * @typedef {import("../state.js").State} State
 * @typedef {import("../state.js").Choice} Choice
 */

/** How many pods are in the list; others are found by name. */
const LISTED = 500;

/** @param {Plan} plan @param {State} state @param {Choice} choice */
export function why(plan, state, choice) {
  const { decisions } = plan.of;
  const named = plan.podRow(choice.pod);
  const chosen = named < 0 ? undefined : named;
  const placement = (chosen === undefined ? undefined : plan.placements.get(chosen)) ?? (chosen === undefined ? decisions[0] : undefined);
  const listed = decisions.slice(0, LISTED).map((of) => ({ value: plan.podName(of.pod), text: plan.podName(of.pod) }));
  if (placement && !listed.some((of) => of.value === plan.podName(placement.pod))) {
    listed.push({ value: plan.podName(placement.pod), text: plan.podName(placement.pod) });
  }
  const list = listed.length === 0 ? null : h("div", { class: "controls" },
    choose("Pod", "why-pod", placement ? listed : [{ value: "", text: "choose a pod" }, ...listed],
      placement ? plan.podName(placement.pod) : "", (pod) => pod && state.set({ pod })));
  return h("section", { class: "why", "aria-label": "Why here" }, list, body(plan, chosen, placement));
}

/** @param {Plan} plan @param {number | undefined} chosen @param {Placement | undefined} placement */
function body(plan, chosen, placement) {
  if (placement) return h("div", null, scores(plan, placement));
  if (chosen === undefined) return h("p", null, "No pod was placed.");
  const node = plan.of.pods.node[chosen];
  if (node >= 0) return h("p", null, `${plan.podName(chosen)} runs on ${plan.of.nodes.name[node]}; no decision of this run placed it.`);
  return h("p", null, `${plan.podName(chosen)} has no node: the quay says why.`);
}

/** @param {Plan} plan @param {Placement} placement */
function scores(plan, placement) {
  const node = plan.of.pods.node[placement.pod];
  const evicted = placement.victims ?? [];
  const head = h("p", { class: "verdict" },
    `${plan.podName(placement.pod)} is placed on ${plan.of.nodes.name[node] ?? "a node that is gone"}, ${placement.why || `one of ${count(placement.feasible)} that fit`}.`);
  const parts = [head];
  if (evicted.length > 0) parts.push(h("p", null, `It evicts ${evicted.map((pod) => plan.podName(pod)).join(", ")}.`));
  const [first, ...others] = placement.nodes;
  if (!first) return h("div", null, parts);
  const names = [...new Set(placement.nodes.flatMap((of) => of.by.map(([by]) => by)))];
  const points = placement.nodes.map((of) => new Map(of.by));
  const most = Math.max(1, ...placement.nodes.flatMap((of) => of.by.map(([, score]) => Math.abs(score))));
  const told = names.filter((by) => points.some((of) => (of.get(by) ?? 0) !== 0));
  const rows = told.map((by) => [
    plan.string(by),
    ...points.map((of) => bar(of.get(by) ?? 0, most)),
  ]);
  const columns = placement.nodes.map((of) => ({ text: plan.of.nodes.name[of.node] ?? "", number: true }));
  parts.push(table(`Scores of ${others.length === 0 ? "the node" : `the node and of ${counted(others.length, "other")}`}; ${counted(placement.feasible, "node")} ${placement.feasible === 1 ? "fits" : "fit"}`,
    [{ text: "Score by" }, ...columns], rows, { sum: ["Total", ...placement.nodes.map((of) => count(of.total))] }));
  if (plan.of.flags) {
    const command = `bayplan explain ${plan.podName(placement.pod)}${plan.of.flags} --all`;
    parts.push(h("p", null, copy("Copy the command", command), " prints the scores of all nodes that fit, and why the others do not: ", h("code", null, command)));
  }
  return h("div", null, parts);
}

/** A number with a bar of its size. @param {number} score @param {number} most */
function bar(score, most) {
  const filled = h("span", { class: "filled" });
  filled.style.width = `${(Math.max(0, score) / most) * 100}%`;
  return h("span", { class: "bar" }, h("span", { class: "track", "aria-hidden": "true" }, filled), h("span", null, count(score)));
}
