// Where everything lies, in units of the picture: bays one below the other, nodes in rows, pods as tiles whose width is
// their share of the resource that is scarcest on the node.

/**
 * @typedef {import("../plan.js").Plan} Plan
 * @typedef {{name: string, nodes: number[], top: number}} Bay
 * @typedef {{bays: Bay[], columns: number, width: number, height: number, head: number,
 *   x: Float32Array, y: Float32Array}} Layout
 */

/** A node: its width, the height of its name, of its tiles, of its slots; the space between nodes. */
export const NODE = { width: 148, name: 16, tiles: 26, slots: 8, gap: 12 };
/** The height of the name of a bay, and its least height in pixels when everything is in sight. */
const [HEAD, HEAD_PIXELS] = [24, 19];
/** How far a node is from the next one below it. */
export const STEP = NODE.name + NODE.tiles + NODE.slots + NODE.gap;

/**
 * @param {Plan} plan @param {{name: string, nodes: number[]}[]} bays @param {{width: number, height: number}} screen in pixels
 * @returns {Layout}
 */
export function layout(plan, bays, screen) {
  const shown = bays.reduce((sum, bay) => sum + bay.nodes.length, 0);
  const across = NODE.width + NODE.gap;
  const columns = Math.max(1, Math.min(shown || 1, Math.round(Math.sqrt((shown * STEP * screen.width) / screen.height / across)) || 1));
  const total = plan.of.nodes.name.length;
  const [x, y] = [new Float32Array(total).fill(NaN), new Float32Array(total).fill(NaN)];
  const head = Math.max(HEAD, (HEAD_PIXELS * columns * across) / screen.width);
  let top = 0;
  /** @type {Bay[]} */
  const placed = bays.map(({ name, nodes }) => {
    const bay = { name, nodes, top };
    if (name) top += head;
    nodes.forEach((node, at) => {
      x[node] = (at % columns) * across;
      y[node] = top + Math.floor(at / columns) * STEP;
    });
    top += Math.ceil(nodes.length / columns) * STEP + NODE.gap;
    return bay;
  });
  return { bays: placed, columns, width: columns * across - NODE.gap, height: Math.max(top - NODE.gap, STEP), head, x, y };
}

/**
 * The tiles of a node from left to right: pods with what each takes of the scarcest resource, as parts of the width. A
 * pod that takes nothing of it has no width.
 * @param {Plan} plan @param {number} node @param {number[]} pods
 * @returns {{pod: number, from: number, to: number}[]}
 */
export function tiles(plan, node, pods) {
  const scarcest = plan.of.nodes.scarcest[node];
  if (scarcest < 0) return [];
  const all = Math.max(1, plan.of.nodes.allocatable[scarcest][node]);
  let taken = 0;
  /** @type {{pod: number, from: number, to: number}[]} */
  const found = [];
  for (const pod of pods) {
    const from = Math.min(1, taken / all);
    taken += plan.request(pod, scarcest);
    const to = Math.min(1, taken / all);
    found.push({ pod, from, to });
  }
  return found;
}

/**
 * The pods in the slots of a node, such as its GPUs; `-1` for a free one.
 * @param {Plan} plan @param {number} node @param {number[]} pods @returns {number[]}
 */
export function slots(plan, node, pods) {
  const resource = plan.of.nodes.slots[node];
  if (resource < 0) return [];
  const all = plan.of.nodes.allocatable[resource][node];
  /** @type {number[]} */
  const found = [];
  for (const pod of pods) {
    for (let held = plan.request(pod, resource); held > 0 && found.length < all; held--) found.push(pod);
  }
  while (found.length < all) found.push(-1);
  return found;
}

/** The node at a point of the picture; -1 where there is none. @param {Layout} of @param {number} x @param {number} y */
export function nodeAt(of, x, y) {
  const column = Math.floor(x / (NODE.width + NODE.gap));
  if (column < 0 || column >= of.columns) return -1;
  for (const bay of of.bays) {
    const top = bay.top + (bay.name ? of.head : 0);
    const row = Math.floor((y - top) / STEP);
    const node = row < 0 ? undefined : bay.nodes[row * of.columns + column];
    if (node === undefined || row >= Math.ceil(bay.nodes.length / of.columns)) continue;
    const inside = x - of.x[node] <= NODE.width && y - of.y[node] <= STEP - NODE.gap;
    return inside ? node : -1;
  }
  return -1;
}
