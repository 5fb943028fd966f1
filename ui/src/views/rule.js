// The text of a policy with what its rules came to: the values of every part for a pod and a node, and how many nodes each
// rule refuses.

import { h, link } from "../dom.js";
import { count } from "../words.js";
import { choose } from "./bays.js";
import { tree } from "./tree.js";

/**
 * @typedef {import("../plan.js").Plan} Plan
 * @typedef {import("../plan.js").Explained} Explained
 * @typedef {import("../plan.js").PolicyRule} PolicyRule
 * @typedef {import("../plan.js").PolicyText} PolicyText
 * @typedef {import("../state.js").State} State
 * @typedef {import("../state.js").Choice} Choice
 */

/**
 * @param {Plan} plan @param {State} state @param {Choice} choice
 * @param {((policy: PolicyText) => void) | undefined} edit where a change can be tried
 */
export function rule(plan, state, choice, edit) {
  const { policies } = plan.of;
  if (policies.length === 0) return h("section", { "aria-label": "Rule" }, h("p", null, "No policy decides here."));
  const named = plan.podRow(choice.pod);
  const pod = named >= 0 ? named : plan.of.focus ?? plan.of.explained[0]?.pod ?? -1;
  const explained = pod < 0 ? undefined : plan.explanationFor(pod);
  const refuses = explained?.rules.map((of) => of.rule) ?? [];
  const has = (/** @type {string} */ name) => policies.find((of) => name === of.name || of.rules.some((one) => one.rule === name));
  // Without a choice the policy of the rule that alone keeps the most nodes away.
  const policy = has(choice.rule) ?? refuses.map(has).find((of) => of !== undefined) ?? policies[0];
  const controls = h("div", { class: "controls" },
    choose("Policy", "rule-policy", policies.map((of) => ({ value: of.name, text: of.name })), policy.name,
      (name) => state.set({ rule: name })));
  if (edit && policy.text) controls.append(h("button", { type: "button", onclick: () => edit(policy) }, "Try a change"));
  if (plan.of.explained.length > 0) {
    const pods = plan.of.explained.map((of) => ({ value: plan.podName(of.pod), text: plan.podName(of.pod) }));
    controls.append(choose("Pod", "rule-pod", explained ? pods : [{ value: "", text: "none" }, ...pods],
      explained ? plan.podName(explained.pod) : "", (name) => state.set({ pod: name })));
  }
  const values = explained && nodeValues(plan, explained, choice.node);
  if (explained && values) {
    controls.append(choose("Node", "rule-node",
      explained.values.map((of) => ({ value: plan.of.nodes.name[of.node], text: plan.of.nodes.name[of.node] })),
      plan.of.nodes.name[values.node], (name) => state.set({ node: name })));
  }
  return h("section", { class: "rule", "aria-label": "Rule" }, controls,
    text(state, policy, choice.rule, explained),
    explained && values ? told(plan, policy, explained, values, choice.rule) : null);
}

/** The values on the chosen node, or on the first one that has some. @param {Plan} plan @param {Explained} of @param {string} node */
function nodeValues(plan, of, node) {
  const row = plan.rowOfNode.get(node);
  return of.values.find((values) => values.node === row) ?? of.values[0];
}

/**
 * The text, with how many nodes each rule refuses beside its first line.
 * @param {State} state @param {PolicyText} policy @param {string} chosen @param {Explained | undefined} explained
 */
function text(state, policy, chosen, explained) {
  if (!policy.text) return h("p", null, `The text of ${policy.name} is not in this file.`);
  const lines = policy.text.split("\n");
  const rows = lines.map((line, at) => {
    const number = at + 1;
    const rules = policy.rules.filter((of) => of.first === number);
    const inside = policy.rules.find((of) => of.first <= number && number <= of.last && of.rule === chosen);
    const beside = rules.map((of) => counts(state, of.rule, explained));
    return h("tr", { class: inside ? "chosen" : null },
      h("td", { class: "number quiet" }, policy.line + at), h("td", null, h("code", null, line)), h("td", { class: "quiet" }, beside));
  });
  return h("div", { class: "wide" }, h("table", { class: "text" },
    h("caption", null, `${policy.name}, ${policy.file}`),
    h("thead", { class: "hidden" }, h("tr", null, h("th", { scope: "col" }, "Line"), h("th", { scope: "col" }, "Text"), h("th", { scope: "col" }, "Refuses"))),
    h("tbody", null, rows)));
}

/** @param {State} state @param {string} name @param {Explained | undefined} explained */
function counts(state, name, explained) {
  const of = explained?.rules.find((rule) => rule.rule === name);
  if (!explained || !of) return null;
  const words = `refuses ${count(of.refuses)} of ${count(explained.nodes)} nodes, ${count(of.alone)} alone`;
  return link(words, () => state.set({ rule: name }));
}

/**
 * @param {Plan} plan @param {PolicyText} policy @param {Explained} explained
 * @param {{node: number, rules: PolicyRule[]}} values @param {string} chosen
 */
function told(plan, policy, explained, values, chosen) {
  const own = values.rules.filter((of) => of.rule.startsWith(`${policy.name}/`));
  const some = own.filter((of) => of.rule === chosen);
  const shown = some.length > 0 ? some : own;
  const head = h("h2", null, `${plan.podName(explained.pod)} on ${plan.of.nodes.name[values.node]}`);
  if (shown.length === 0) return h("div", null, head, h("p", null, `No rule of ${policy.name} judges this node.`));
  return h("div", null, head, shown.map((of) => h("div", { class: "told" },
    h("p", null, h("strong", null, of.rule), " ", h("span", { class: "place" }, of.place), " ",
      h("span", { class: of.refuses ? "bad" : "good" }, of.refuses ? "refuses" : "lets it pass"),
      of.refuses && of.reason ? `: ${of.reason}` : "", of.reached ? "" : " (not reached: a statement before it refuses)"),
    of.error ? h("p", null, of.error) : null,
    Object.entries(of.details).map(([name, value]) => h("p", null, `${name}: ${value}`)),
    of.condition ? tree(of.condition) : null)));
}
