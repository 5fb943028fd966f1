// Which nodes are in one bay: those with one value of a label.

/** @typedef {import("../plan.js").Plan} Plan */

/** The label that groups where nothing else is chosen and there are several values. */
export const ZONE = "topology.kubernetes.io/zone";

/** Keys by which grouping says something: those with fewer values than nodes. @param {Plan} plan @returns {string[]} */
export function keys(plan) {
  const { name, labels } = plan.of.nodes;
  return labels
    .filter((label) => {
      const values = new Set(label.value).size;
      return values < name.length || name.length === 1;
    })
    .map((label) => label.key);
}

/** The key that is used: what the choice says, else the zone. @param {Plan} plan @param {string} chosen `-`: none */
export function keyOf(plan, chosen) {
  if (chosen) return chosen === "-" ? "" : chosen;
  const zones = plan.of.nodes.labels.find((label) => label.key === ZONE);
  return zones && new Set(zones.value).size > 1 ? ZONE : "";
}

/**
 * Bays by name, each with its nodes in the order of the cluster.
 * @param {Plan} plan @param {string} key
 * @returns {{name: string, nodes: number[]}[]}
 */
export function bays(plan, key) {
  /** @type {Map<string, number[]>} */
  const found = new Map();
  const column = plan.of.nodes.labels.find((label) => label.key === key);
  plan.of.nodes.name.forEach((_, node) => {
    const name = column ? (column.value[node] < 0 ? `without ${key}` : plan.string(column.value[node])) : "";
    const nodes = found.get(name);
    if (nodes) nodes.push(node);
    else found.set(name, [node]);
  });
  return [...found].map(([name, nodes]) => ({ name, nodes })).sort((a, b) => (a.name < b.name ? -1 : 1));
}
