// Before and after: pods that stay where they are, and pods that move between the quay and a node.

import { NODE, tiles } from "./layout.js";

/**
 * @typedef {import("../plan.js").Plan} Plan
 * @typedef {import("./layout.js").Layout} Layout
 * @typedef {import("./draw.js").Tile} Tile
 * @typedef {import("./draw.js").Move} Move
 * @typedef {import("./draw.js").Place} Place
 */

/** The width of a pod on the quay, in units of the picture. */
const CRATE = 40;

/**
 * The pods that move, with the tiles of those that stay. The quay is below the bays; the layout becomes larger by it.
 * @param {Plan} plan @param {Layout} layout
 * @returns {{moves: Move[], tilesOn: (node: number) => Tile[]}}
 */
export function moving(plan, layout) {
  const { before, node: now } = plan.of.pods;
  const moves = (/** @type {number} */ pod) => before[pod] !== now[pod];
  // The tiles of a node hold everything that was or is on it, so that nothing shifts.
  /** @type {Map<number, number[]>} */
  const came = new Map();
  const gone = before.flatMap((node, pod) => (node >= 0 && moves(pod) ? [pod] : []));
  for (const pod of gone) came.set(before[pod], [...(came.get(before[pod]) ?? []), pod]);
  const all = (/** @type {number} */ node) => [...plan.podsOn[node].filter((pod) => !moves(pod)), ...plan.podsOn[node].filter(moves)];
  const tilesOf = (/** @type {number} */ node) => tiles(plan, node, all(node));
  layout.bays.push({ name: "Quay", nodes: [], top: layout.height });
  const quay = layout.height + layout.head;
  const waits = new Set(plan.quay);
  const across = Math.max(1, Math.floor(layout.width / (CRATE + 4)));
  const onQuay = [...plan.quay, ...now.flatMap((node, pod) => (moves(pod) && (node < 0 || before[pod] < 0) && !waits.has(pod) ? [pod] : []))];
  /** @type {Map<number, Place>} */
  const crates = new Map(onQuay.map((pod, at) => [pod, {
    x: (at % across) * (CRATE + 4), y: quay + Math.floor(at / across) * (NODE.tiles + 6), width: CRATE,
  }]));
  layout.height = quay + Math.max(1, Math.ceil(onQuay.length / across)) * (NODE.tiles + 6);
  /** @param {number} pod @param {number} node @param {Tile[]} tiles @returns {Place} */
  const on = (pod, node, tiles) => {
    const tile = tiles.find((of) => of.pod === pod);
    const share = tile ? tile.to - tile.from : 0;
    return { x: layout.x[node] + (tile?.from ?? 0) * NODE.width, y: layout.y[node] + NODE.name, width: share * NODE.width };
  };
  /** @type {Move[]} */
  const found = [];
  for (const pod of onQuay) {
    const crate = crates.get(pod);
    if (!crate) continue;
    const from = before[pod] >= 0 ? on(pod, before[pod], tiles(plan, before[pod], came.get(before[pod]) ?? [])) : crate;
    const to = now[pod] >= 0 ? on(pod, now[pod], tilesOf(now[pod])) : crate;
    found.push({ pod, from, to });
  }
  return { moves: found, tilesOn: (node) => tilesOf(node).filter((tile) => !moves(tile.pod)) };
}
