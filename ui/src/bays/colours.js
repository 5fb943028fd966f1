// What colours and hatching mean, with how many pods or nodes have each. People who see no red or no green tell the colours
// apart; beyond eight, hatching does.

import { counted } from "../words.js";
import { inOrder, setsByNode } from "../plan.js";

/**
 * @typedef {import("../plan.js").Plan} Plan
 * @typedef {import("../plan.js").Explained} Explained
 * @typedef {{colour: number, hatch: boolean, stripe?: number, outline?: boolean}} Look A colour of -1 is that of a node; hatching is
 *   in the colour `stripe`, else in that of the page.
 * @typedef {{text: string, look: Look, count: number, of: "pod" | "node", set?: number}} Entry
 * @typedef {{pod: (pod: number) => Look, node: (node: number) => Look | null, legend: Entry[]}} Scheme
 */

/** How many colours there are. */
export const COLOURS = 8;

/** @type {{value: string, text: string}[]} */
export const SCHEMES = [
  { value: "application", text: "application" },
  { value: "namespace", text: "namespace" },
  { value: "priority", text: "priority" },
  { value: "free", text: "free share of nodes" },
  { value: "verdict", text: "verdict for the chosen pod" },
];

/** @type {Look} */
const PLAIN = { colour: 0, hatch: false };
/** @type {Look} */
const BARE = { colour: -1, hatch: false };

/**
 * @param {Plan} plan @param {string} scheme @param {Explained | undefined} explained
 * @returns {Scheme}
 */
export function colours(plan, scheme, explained) {
  if (scheme === "verdict" && explained) return byVerdict(explained);
  if (scheme === "free") return byFree(plan);
  const { pods } = plan.of;
  if (scheme === "priority") return byValue(plan, (pod) => String(pods.priority[pod]));
  if (scheme === "namespace") return byValue(plan, (pod) => plan.string(pods.namespace[pod]));
  return byValue(plan, (pod) => plan.string(pods.application[pod]));
}

/** Each value has a look, the most frequent one the first. @param {Plan} plan @param {(pod: number) => string} value */
function byValue(plan, value) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  const values = plan.of.pods.name.map((_, pod) => value(pod));
  for (const of of values) counts.set(of, (counts.get(of) ?? 0) + 1);
  const order = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  /** @type {Map<string, Look>} */
  const looks = new Map(order.map(([name], at) => [name, { colour: at % COLOURS, hatch: at >= COLOURS }]));
  /** @type {Entry[]} */
  const legend = order.map(([text, count]) => ({ text, look: looks.get(text) ?? PLAIN, count, of: "pod" }));
  const byPod = values.map((of) => looks.get(of) ?? PLAIN);
  return { pod: (/** @type {number} */ pod) => byPod[pod], node: () => null, legend };
}

/** The words for how much of the scarcest resource is free, the least first. */
const SHARES = ["nothing free", "less than a quarter", "less than half", "less than three quarters", "three quarters or more"];

/** @param {Plan} plan @returns {Scheme} */
function byFree(plan) {
  const { nodes } = plan.of;
  const steps = nodes.name.map((_, node) => {
    const scarcest = nodes.scarcest[node];
    if (scarcest < 0) return 0;
    const all = nodes.allocatable[scarcest][node];
    const free = all - nodes.requested[scarcest][node];
    return free <= 0 ? 0 : Math.min(4, 1 + Math.floor((free * 4) / all));
  });
  /** @type {Entry[]} */
  const legend = SHARES.map((text, step) => ({
    text, look: { colour: step, hatch: step === 0 }, count: steps.filter((of) => of === step).length, of: "node",
  }));
  return {
    pod: () => BARE,
    node: (node) => ({ colour: steps[node], hatch: steps[node] === 0 }),
    legend: legend.filter((entry) => entry.count > 0),
  };
}

/**
 * Each node in the colour of the rule that alone refuses it, hatched in two colours where several do, outlined where the pod
 * fits.
 * @param {Explained} explained @returns {Scheme}
 */
function byVerdict(explained) {
  const sets = setsByNode(explained);
  const order = explained.rules.map((rule) => rule.rule);
  /** @type {(rules: string[]) => Look} */
  const look = (rules) => {
    const [first = 0, ...others] = inOrder(explained, rules).map((rule) => order.indexOf(rule) % COLOURS);
    const last = others.at(-1);
    return last === undefined ? { colour: first, hatch: false } : { colour: first, hatch: true, stripe: last };
  };
  /** @type {Look} */
  const fits = { colour: -1, hatch: false, outline: true };
  const looks = explained.sets.map((set) => look(set.rules));
  /** @type {Entry[]} */
  const legend = explained.sets.map((set, at) => ({
    text: set.rules.length === 1 ? `${set.rules[0]} alone` : inOrder(explained, set.rules).join(", "),
    look: looks[at], count: set.nodes, of: "node", set: at,
  }));
  if (explained.fits > 0) legend.push({ text: "none: it fits", look: fits, count: explained.fits, of: "node", set: -1 });
  const strange = sets.filter((at) => at === -2).length;
  if (strange > 0) legend.push({ text: "not tried", look: BARE, count: strange, of: "node", set: -2 });
  return {
    pod: () => BARE,
    node: (node) => (sets[node] === -1 ? fits : sets[node] < 0 ? BARE : looks[sets[node]]),
    legend,
  };
}

/** `3 nodes`, `12 pods`. @param {Entry} entry */
export function entryCount(entry) {
  return counted(entry.count, entry.of);
}
