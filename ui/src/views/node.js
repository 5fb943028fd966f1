// The chosen node and the chosen pod, beside every view.

import { copy, h, link, table } from "../dom.js";
import { amount, count, counted } from "../words.js";
import { rulesOn } from "../plan.js";

/**
 * @typedef {import("../plan.js").Plan} Plan
 * @typedef {import("../state.js").State} State
 * @typedef {import("../state.js").Choice} Choice
 */

/** How many pods and labels of a node are shown. */
const MANY = 40;

/** @param {Plan} plan @param {State} state @param {Choice} choice */
export function chosen(plan, state, choice) {
  const parts = [];
  const named = plan.podRow(choice.pod);
  const pod = named < 0 ? undefined : named;
  const node = plan.rowOfNode.get(choice.node);
  if (pod !== undefined) parts.push(aboutPod(plan, state, pod));
  if (node !== undefined) parts.push(aboutNode(plan, state, node, pod));
  if (parts.length === 0) parts.push(h("p", { class: "quiet" }, "Choose a node or a pod: by a click, or with the arrow keys in the bays."));
  return h("aside", { "aria-label": "What is chosen" }, parts);
}

/** @param {Plan} plan @param {State} state @param {number} pod */
function aboutPod(plan, state, pod) {
  const { pods, nodes, resources } = plan.of;
  const node = pods.node[pod];
  const placed = plan.placements.has(pod);
  const message = plan.string(pods.message[pod]);
  const requests = resources.flatMap((name, at) => {
    const wanted = plan.request(pod, at);
    return wanted > 0 ? [`${amount(name, wanted)} ${name}`] : [];
  });
  return h("section", { class: "card", "aria-label": "Pod" },
    h("h2", null, plan.podName(pod)),
    h("p", null, node >= 0
      ? h("span", null, `${plan.state(pod)} on `, link(nodes.name[node], () => state.set({ node: nodes.name[node] })))
      : h("span", { class: "warn" }, plan.state(pod))),
    message ? h("p", null, message) : null,
    h("dl", null,
      h("dt", null, "Requests"), h("dd", null, requests.join(", ") || "nothing"),
      h("dt", null, "Priority"), h("dd", null, count(pods.priority[pod])),
      plan.string(pods.owner[pod]) ? [h("dt", null, "Made by"), h("dd", null, plan.string(pods.owner[pod]))] : []),
    h("p", { class: "links" },
      placed ? link("Why here", () => state.set({ view: "why", pod: plan.podName(pod) })) : null,
      node < 0 ? link("Why it waits", () => state.set({ view: "quay", pod: plan.podName(pod), cause: "" })) : null,
      link("Choose none", () => state.set({ pod: "", set: "" }))));
}

/** @param {Plan} plan @param {State} state @param {number} node @param {number | undefined} pod */
function aboutNode(plan, state, node, pod) {
  const { nodes, resources } = plan.of;
  const trouble = plan.string(nodes.trouble[node]);
  const rows = resources.flatMap((name, at) => {
    const [all, used] = [nodes.allocatable[at][node], nodes.requested[at][node]];
    if (all === 0 && used === 0) return [];
    return [[name, amount(name, all), amount(name, used), amount(name, all - used)]];
  });
  const on = plan.podsOn[node];
  const labels = nodes.labels.filter((of) => of.value[node] >= 0);
  return h("section", { class: "card", "aria-label": "Node" },
    h("h2", null, nodes.name[node], trouble ? h("span", { class: "warn" }, ` ${trouble}`) : null),
    refusals(plan, state, node, pod),
    table("What it has", [{ text: "Resource" }, { text: "Has", number: true }, { text: "Requested", number: true }, { text: "Free", number: true }], rows),
    nodes.taints[node].length > 0 ? h("p", null, `Taints: ${nodes.taints[node].map((of) => plan.string(of)).join(", ")}`) : null,
    h("details", { open: on.length <= 12 }, h("summary", null, counted(on.length, "pod")),
      h("ul", { class: "plain" }, on.slice(0, MANY).map((row) => h("li", null,
        link(plan.podName(row), () => state.set({ pod: plan.podName(row), set: "" }))))),
      on.length > MANY ? h("p", { class: "quiet" }, `and ${counted(on.length - MANY, "other")}`) : null),
    h("details", null, h("summary", null, counted(labels.length, "label")),
      h("ul", { class: "plain" }, labels.slice(0, MANY).map((of) => h("li", null, `${of.key}=${plan.string(of.value[node])}`)))),
    h("p", { class: "links" }, link("Choose none", () => state.set({ node: "" }))));
}

/** What keeps the chosen pod away from a node. @param {Plan} plan @param {State} state @param {number} node @param {number | undefined} pod */
function refusals(plan, state, node, pod) {
  const explained = pod === undefined ? undefined : plan.explanationFor(pod);
  if (!explained || pod === undefined) return null;
  const rules = rulesOn(explained, node);
  const who = plan.podName(explained.pod);
  if (rules === null) return h("p", { class: "quiet" }, `${who} was not tried here.`);
  if (rules.length === 0) return h("p", { class: "good" }, `${who} fits here.`);
  const known = new Set(plan.of.policies.flatMap((policy) => policy.rules.map((rule) => rule.rule)));
  const items = explained.reasons[explained.perNode[node]].map((at) => {
    const { rule, reason, what, need, have } = explained.refusals[at];
    const values = [what && what !== reason ? what : "", need ? `needs ${need}` : "", have ? `has ${have}` : ""].filter(Boolean).join(", ");
    const name = known.has(rule)
      ? link(rule, () => state.set({ view: "rule", rule, node: plan.of.nodes.name[node] }))
      : h("strong", null, rule);
    return h("li", null, name, ` ${reason}${values ? `: ${values}` : ""}`);
  });
  const command = `bayplan explain ${who}${plan.of.flags} --node ${plan.of.nodes.name[node]}`;
  return h("div", null, h("p", { class: "bad" }, `${who}: refused by ${counted(rules.length, "rule")}`), h("ul", { class: "plain" }, items),
    plan.of.flags ? h("p", null, copy("Copy the command", command)) : null);
}
