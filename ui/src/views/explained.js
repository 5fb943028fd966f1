// Why a pod waits, as `explain` says it: nodes by their set of reasons, rules with what they keep away, what would help.

import { copy, h, link, table } from "../dom.js";
import { inOrder } from "../plan.js";
import { tree } from "./tree.js";
import { count } from "../words.js";

/**
 * @typedef {import("../plan.js").Plan} Plan
 * @typedef {import("../plan.js").Explained} Explained
 * @typedef {import("../plan.js").Statement} Statement
 * @typedef {import("../state.js").State} State
 */

/** @param {Plan} plan @param {State} state @param {Explained} of @param {number} pod the pod that was chosen */
export function explanation(plan, state, of, pod) {
  const parts = [h("p", { class: "verdict" }, of.verdict)];
  if (of.pod !== pod) {
    parts.push(h("p", { class: "quiet" }, "Explained for ",
      link(plan.podName(of.pod), () => state.set({ pod: plan.podName(of.pod) })), ", which waits for the same cause."));
  }
  if (of.refusedBeforeNodes) {
    const [plugin, reason] = of.refusedBeforeNodes;
    parts.push(h("p", null, `${plugin} refuses it before nodes are evaluated: ${reason}`));
  }
  for (const statement of of.refusedBy) parts.push(told(statement));
  if (of.group.length > 0) {
    parts.push(table("Also in the group", [{ text: "Pod" }, { text: "State" }], of.group.map((one) => [one.pod, one.state])));
  }
  if (of.sets.length > 0) parts.push(sets(state, of), rules(plan, state, of));
  if (of.conflicts.length > 0) parts.push(conflicts(of));
  for (const would of of.wouldRefuse) {
    const what = would.nodes === undefined ? "the pod" : `${count(would.nodes)} nodes`;
    parts.push(h("p", null, `${would.rule} does not decide (${would.mode}) and would refuse ${what}: ${would.reason}`));
  }
  for (const made of of.exceptions) {
    parts.push(h("p", null, `${made.rule} leaves it alone until ${made.until}: ${made.because}`));
  }
  parts.push(...helps(plan, of));
  if (of.message) parts.push(h("p", { class: "quiet" }, `Event: ${of.message}`));
  return h("div", { class: "explanation" }, parts);
}

/** What a statement says of the pod, with the values of its condition. @param {Statement} of */
function told(of) {
  const says = of.reason ?? (of.nodes ? `leaves the nodes ${of.nodes}` : "");
  return h("div", { class: "told" },
    h("p", null, h("strong", null, of.rule), " ", h("span", { class: "place" }, of.place), of.node ? ` on ${of.node}` : "", says ? `: ${says}` : ""),
    of.error ? h("p", null, of.error) : null,
    Object.entries(of.details).map(([name, value]) => h("p", null, `${name}: ${value}`)),
    of.condition ? tree(of.condition) : null);
}

/** Nodes by their set of reasons; the parts add up. @param {State} state @param {Explained} of */
function sets(state, of) {
  /** @type {{nodes: number, text: string, set: number}[]} */
  const rows = of.sets.map((set, at) => ({ nodes: set.nodes, text: inOrder(of, set.rules).join(", "), set: at }));
  if (of.fits > 0) rows.push({ nodes: of.fits, text: "none: they fit", set: -1 });
  rows.sort((a, b) => b.nodes - a.nodes);
  return table("Nodes by what refuses them", [{ text: "Nodes", number: true }, { text: "Refused by" }],
    rows.map((row) => [count(row.nodes), link(row.text, () => state.set({ view: "bays", colour: "verdict", set: String(row.set) }))]),
    { sum: [count(of.nodes), ""] });
}

/** @param {Plan} plan @param {State} state @param {Explained} of */
function rules(plan, state, of) {
  const known = new Set(plan.of.policies.flatMap((policy) => policy.rules.map((rule) => rule.rule)));
  return table("Rules", [{ text: "Rule" }, { text: "Refuses", number: true }, { text: "Alone", number: true }, { text: "Because" }],
    of.rules.map((rule) => [
      known.has(rule.rule) ? link(rule.rule, () => state.set({ view: "rule", rule: rule.rule })) : rule.rule,
      count(rule.refuses),
      h("strong", null, count(rule.alone)),
      h("span", null, rule.because.join("; "),
        rule.place ? h("span", { class: "place" }, ` ${rule.place}`) : null),
    ]));
}

/** @param {Explained} of */
function conflicts(of) {
  const rows = of.conflicts.flatMap((conflict) => conflict.requirements)
    .map((one) => [`${one.rule} ${one.need} ${one.what}`.trim(), count(one.meet)]);
  return table("Requirements that no node meets together", [{ text: "Requirement" }, { text: "Nodes that meet it", number: true }], rows);
}

/** @param {Plan} plan @param {Explained} of */
function helps(plan, of) {
  if (of.wouldHelp.length === 0) return [];
  const rows = of.wouldHelp.map((help, at) => [
    at + 1, help.whose, help.what, help.effect, help.patch ? copy("Copy the patch", help.patch) : null,
  ]);
  const command = `bayplan explain ${plan.podName(of.pod)}${plan.of.flags} --fix 1`;
  const parts = [table("What would help: each was tried, the pod then fits",
    [{ text: "No.", number: true }, { text: "Whose" }, { text: "Change" }, { text: "Opens" }, { text: "Patch" }], rows)];
  if (plan.of.flags) parts.push(h("p", null, copy("Copy the command", command), " ", h("code", null, command)));
  return parts;
}
