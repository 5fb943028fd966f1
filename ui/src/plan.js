// The document of the page, as `docs/json.md` describes it, and what is looked up in it.

/**
 * @typedef {{key: string, value: number[]}} Label
 * @typedef {{name: string[], trouble: number[], allocatable: number[][], requested: number[][], scarcest: number[],
 *   slots: number[], taints: number[][], labels: Label[]}} Nodes
 * @typedef {{name: string[], namespace: number[], owner: number[], application: number[], priority: number[],
 *   requests: number[], age: number[], before: number[], node: number[], state: number[], message: number[],
 *   cause: number[]}} Pods
 * @typedef {{node: number, total: number, by: [number, number][]}} NodeScore
 * @typedef {{pod: number, why: string, feasible: number, victims?: number[], nodes: NodeScore[]}} Placement
 * @typedef {{cause: string, pods: number, oldest: string, wouldHelp: string, example?: number}} Cause
 * @typedef {{rule: string, place: string, reason: string, what: string, need: string, have: string}} Refusal
 * @typedef {{rule: string, place: string, refuses: number, alone: number, because: string[]}} RuleReasons
 * @typedef {{rules: string[], nodes: number}} RuleSet
 * @typedef {{text: string, value: string | null, truth: boolean | null, reached: boolean, parts: Condition[]}} Condition
 * @typedef {{rule: string, place: string, refuses: boolean, reached: boolean, reason: string | null,
 *   error: string | null, details: Record<string, string>, condition: Condition | null}} PolicyRule
 * @typedef {{rule: string, place: string, node: string | null, reason: string | null, nodes: string | null, error: string | null,
 *   details: Record<string, string>, condition: Condition | null}} Statement
 * @typedef {{whose: string, what: string, effect: string, nodes: number[], patch?: string}} Help
 * @typedef {{pod: number, verdict: string, message: string, nodes: number, fits: number,
 *   refusedBeforeNodes?: [string, string], refusedLate?: {plugin: string, node: string, reason: string},
 *   sets: RuleSet[], rules: RuleReasons[], funnel: [string, number][],
 *   conflicts: {requirements: {rule: string, what: string, need: string, meet: number}[]}[],
 *   wouldRefuse: {rule: string, mode: string, place: string, reason: string, nodes?: number}[],
 *   exceptions: {rule: string, until: string, because: string, place: string}[],
 *   refusedBy: Statement[], group: {pod: string, state: string}[], refusals: Refusal[], reasons: number[][], perNode: number[], wouldHelp: Help[],
 *   values: {node: number, rules: PolicyRule[]}[]}} Explained
 * @typedef {{rule: string, place: string, first: number, last: number, doc?: string, mode?: string}} RuleText
 * @typedef {{name: string, file: string, line: number, text: string, rules: RuleText[]}} PolicyText
 * @typedef {{by: string, pods: number, reason: string, opens: string | null, then: string}} Held
 * @typedef {{schedulerName: string, pods: number, nearest: string | null}} Foreign
 * @typedef {{apiVersion: string, kind: string, program: string, command: string, flags: string, at: string,
 *   opens: string, focus?: number, answer: string[], totals: Record<string, number>, resources: string[],
 *   strings: string[], nodes: Nodes, pods: Pods, requests: number[][], decisions: Placement[], causes: Cause[],
 *   gated: Held[], foreign: Foreign[], explained: Explained[], policies: PolicyText[]}} Document
 */

/** The states of pods that wait for something. */
const WAITING = new Set(["waits", "failed", "gated", "atPermit"]);

/** A document with its indexes. */
export class Plan {
  /** @param {Document} document */
  constructor(document) {
    this.of = document;
    /** @type {Plan | undefined} The cluster without the change that this one shows. */
    this.base = undefined;
    const { nodes, pods } = document;
    /** @type {number[][]} The pods of each node. */
    this.podsOn = nodes.name.map(() => []);
    /** @type {number[]} The pods that wait. */
    this.quay = [];
    pods.node.forEach((node, pod) => {
      if (node >= 0) this.podsOn[node].push(pod);
      else if (WAITING.has(this.state(pod))) this.quay.push(pod);
    });
    /** @type {Map<string, number>} The pods that were looked for. */
    this.known = new Map();
    /** @type {Map<string, number>} */
    this.rowOfNode = new Map(nodes.name.map((name, node) => [name, node]));
    /** @type {Map<number, Placement>} */
    this.placements = new Map(document.decisions.map((of) => [of.pod, of]));
    /** @type {Map<number, Explained>} */
    this.explained = new Map(document.explained.map((of) => [of.pod, of]));
  }

  /** @param {number} place @returns {string} */
  string(place) {
    return place < 0 ? "" : this.of.strings[place] ?? "";
  }

  /** @param {number} pod */
  state(pod) {
    return this.string(this.of.pods.state[pod]);
  }

  /** `namespace/name`. @param {number} pod */
  podName(pod) {
    return `${this.string(this.of.pods.namespace[pod])}/${this.of.pods.name[pod]}`;
  }

  /** The row of a pod; -1 where there is none. To make all names takes longer than to look through them. @param {string} name */
  podRow(name) {
    const known = this.known.get(name);
    if (known !== undefined) return known;
    const own = name.slice(name.indexOf("/") + 1);
    const row = name ? this.of.pods.name.findIndex((of, pod) => name.endsWith(of) && of.length <= own.length && this.podName(pod) === name) : -1;
    this.known.set(name, row);
    return row;
  }

  /** What a pod requests of a resource. @param {number} pod @param {number} resource @returns {number} */
  request(pod, resource) {
    return this.of.requests[this.of.pods.requests[pod]]?.[resource] ?? 0;
  }

  /** The value of a label on a node. @param {string} key @param {number} node */
  label(key, node) {
    const column = this.of.nodes.labels.find((label) => label.key === key);
    return column ? this.string(column.value[node]) : "";
  }

  /**
   * What is explained for a pod: of the pod itself, or of the example of its cause.
   * @param {number} pod @returns {Explained | undefined}
   */
  explanationFor(pod) {
    const own = this.explained.get(pod);
    if (own) return own;
    const cause = this.of.causes[this.of.pods.cause[pod]];
    return cause?.example === undefined ? undefined : this.of.explained[cause.example];
  }
}

/**
 * The rules that refuse a node, in the order in which they run; `null` for a node that was not tried.
 * @param {Explained} explained @param {number} node @returns {string[] | null}
 */
export function rulesOn(explained, node) {
  const reasons = explained.reasons[explained.perNode[node]];
  if (!reasons) return null;
  return [...new Set(reasons.map((at) => explained.refusals[at].rule))];
}

/** The place in `sets` of a node; -1 where it fits, -2 where it was not tried. @param {Explained} explained */
export function setsByNode(explained) {
  const places = new Map(explained.sets.map((set, at) => [[...set.rules].sort().join("\n"), at]));
  /** @type {number[]} */
  const byReasons = explained.reasons.map((reasons) => {
    if (reasons.length === 0) return -1;
    const rules = [...new Set(reasons.map((at) => explained.refusals[at].rule))].sort();
    return places.get(rules.join("\n")) ?? -2;
  });
  return explained.perNode.map((at) => (at < 0 ? -2 : byReasons[at]));
}

/** Rules in the order of the table of rules. @param {Explained} of @param {string[]} rules */
export function inOrder(of, rules) {
  return of.rules.map((rule) => rule.rule).filter((rule) => rules.includes(rule));
}
