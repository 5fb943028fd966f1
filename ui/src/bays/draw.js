// Draws a layout on a canvas, from as far as everything fits to as near as names can be read.

import { NODE, STEP, slots } from "./layout.js";

/**
 * @typedef {import("../plan.js").Plan} Plan
 * @typedef {import("./layout.js").Layout} Layout
 * @typedef {import("./colours.js").Scheme} Scheme
 * @typedef {import("./colours.js").Look} Look
 * @typedef {{scale: number, x: number, y: number}} Camera Pixels for a unit, and the point of the picture at the corner.
 * @typedef {{ink: string, quiet: string, line: string, node: string, page: string, accent: string, tiles: string[]}} Inks
 * @typedef {{plan: Plan, layout: Layout, scheme: Scheme, inks: Inks, chosen: number, pod: number,
 *   faded: (node: number) => boolean, podsOn: (node: number) => number[], tilesOn: (node: number) => Tile[],
 *   moves: Move[], moment: number}} Scene `moment`: how far pods have moved, from 0 to 1.
 * @typedef {{pod: number, from: number, to: number}} Tile
 * @typedef {{x: number, y: number, width: number}} Place
 * @typedef {{pod: number, from: Place, to: Place}} Move
 */

/** Below this many pixels for a node its pods are not told apart. */
const NEAR = 26;
/** Hatching of less than so many pixels cannot be seen. */
const HATCHED = 5;
/** From this scale on names can be read. */
const READABLE = 0.62;

/** The inks of the style sheet, which knows light and dark. @returns {Inks} */
export function inks() {
  const style = getComputedStyle(document.documentElement);
  const of = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return {
    ink: of("--ink"), quiet: of("--quiet"), line: of("--line"), node: of("--node"), page: of("--page"),
    accent: of("--accent"), tiles: Array.from({ length: 8 }, (_, at) => of(`--tile-${at}`)),
  };
}

/** @type {Map<string, CanvasPattern>} */
const patterns = new Map();

/** Hatching of two colours. @param {CanvasRenderingContext2D} on @param {string} colour @param {string} stripe */
function hatched(on, colour, stripe) {
  const key = `${colour} ${stripe}`;
  const known = patterns.get(key);
  if (known) return known;
  const tile = new OffscreenCanvas(8, 8);
  const inside = tile.getContext("2d");
  if (!inside) return colour;
  inside.fillStyle = colour;
  inside.fillRect(0, 0, 8, 8);
  inside.strokeStyle = stripe;
  inside.lineWidth = 2;
  inside.beginPath();
  for (const [x, y] of [[-2, 2], [0, 8], [6, 10]]) {
    inside.moveTo(x, y);
    inside.lineTo(x + (x === 0 ? 8 : 4), y - (x === 0 ? 8 : 4));
  }
  inside.stroke();
  const made = on.createPattern(/** @type {any} */ (tile), "repeat");
  if (!made) return colour;
  patterns.set(key, made);
  return made;
}

/** A colour, hatched where that can be seen. @param {CanvasRenderingContext2D} on @param {Look} look @param {Inks} inks @param {number} height */
function fill(on, look, inks, height) {
  if (look.colour < 0) return inks.node;
  const colour = inks.tiles[look.colour] ?? inks.node;
  const stripe = look.stripe === undefined ? inks.page : inks.tiles[look.stripe] ?? inks.page;
  return look.hatch && height >= HATCHED ? hatched(on, colour, stripe) : colour;
}

/**
 * @param {CanvasRenderingContext2D} on @param {Scene} scene @param {Camera} camera @param {number} width in pixels
 * @param {number} height in pixels
 */
export function draw(on, scene, camera, width, height) {
  const { layout, inks } = scene;
  const { scale } = camera;
  on.clearRect(0, 0, width, height);
  on.textBaseline = "alphabetic";
  for (const bay of layout.bays) {
    const top = (bay.top - camera.y) * scale;
    const rows = Math.ceil(bay.nodes.length / layout.columns);
    if (top > height || top + (layout.head + (rows + 1) * STEP) * scale < 0) continue;
    if (bay.name) {
      on.fillStyle = inks.ink;
      on.font = `600 ${Math.max(11, Math.min(16, 14 * scale))}px ui-sans-serif, system-ui, sans-serif`;
      on.fillText(bay.name, -camera.x * scale, top + layout.head * scale - 5);
    }
    const first = layout.y[bay.nodes[0]] ?? 0;
    const from = Math.max(0, Math.floor((camera.y - first) / STEP) - 1);
    const to = Math.min(rows, Math.ceil((camera.y + height / scale - first) / STEP) + 1);
    for (const node of bay.nodes.slice(from * layout.columns, to * layout.columns)) {
      drawNode(on, scene, camera, node, width);
    }
  }
}

/** @param {CanvasRenderingContext2D} on @param {Scene} scene @param {Camera} camera @param {number} node @param {number} across */
function drawNode(on, scene, camera, node, across) {
  const { plan, layout, scheme, inks } = scene;
  const { scale } = camera;
  const [x, y] = [(layout.x[node] - camera.x) * scale, (layout.y[node] - camera.y) * scale];
  const width = NODE.width * scale;
  if (x > across || x + width < 0) return;
  const readable = scale >= READABLE;
  const [top, height] = [y + NODE.name * scale, NODE.tiles * scale];
  on.globalAlpha = scene.faded(node) ? 0.25 : 1;
  const own = scheme.node(node);
  on.fillStyle = own ? fill(on, own, inks, height) : inks.node;
  on.fillRect(x, top, width, height);
  if (!own || own.colour < 0) drawTiles(on, scene, node, x, top, width, height);
  const held = width >= NEAR ? slots(plan, node, scene.podsOn(node)) : [];
  held.forEach((pod, at) => {
    const wide = width / held.length;
    on.fillStyle = pod < 0 || own ? inks.node : fill(on, scheme.pod(pod), inks, NODE.slots * scale);
    if (own && pod >= 0) on.fillStyle = inks.quiet;
    on.fillRect(x + at * wide, top + height + 2 * scale, Math.max(wide - scale, 0.5), (NODE.slots - 2) * scale);
  });
  if (readable) {
    on.strokeStyle = inks.line;
    on.lineWidth = 1;
    on.strokeRect(Math.round(x) + 0.5, Math.round(top) + 0.5, Math.round(width), Math.round(height));
    drawName(on, scene, node, x, y + 12 * scale, width, scale);
  }
  if (own?.outline) {
    on.strokeStyle = inks.accent;
    on.lineWidth = Math.max(1.5, 2 * scale);
    on.strokeRect(x, top, width, height);
  }
  on.globalAlpha = 1;
  if (node === scene.chosen) {
    on.strokeStyle = inks.accent;
    on.lineWidth = Math.max(2, 3 * scale);
    on.strokeRect(x - 2, y - 1, width + 4, (STEP - NODE.gap) * scale + 2);
  }
}

/**
 * @param {CanvasRenderingContext2D} on @param {Scene} scene @param {number} node @param {number} x @param {number} y
 * @param {number} width @param {number} height
 */
function drawTiles(on, scene, node, x, y, width, height) {
  const { scheme, inks } = scene;
  const gap = width >= NODE.width * READABLE ? 1 : 0;
  // Tiles of one look that touch are drawn at once where they cannot be told apart.
  let run = { look: /** @type {Look | null} */ (null), from: 0, to: 0 };
  const flush = () => {
    if (run.look) {
      on.fillStyle = fill(on, run.look, inks, height);
      on.fillRect(x + run.from * width, y, Math.max((run.to - run.from) * width - gap, gap ? 2 : 0.4), height);
    }
    run.look = null;
  };
  for (const { pod, from, to } of scene.tilesOn(node)) {
    const look = scheme.pod(pod);
    const marked = pod === scene.pod;
    if (gap || marked || !run.look || run.look.colour !== look.colour || run.look.hatch !== look.hatch) {
      flush();
      run = { look: look.colour < 0 ? { colour: -1, hatch: false } : look, from, to };
      if (look.colour < 0) {
        // The colour belongs to the node, and pods show as lines.
        run.look = null;
        on.fillStyle = inks.line;
        on.fillRect(x + to * width - 0.5, y, 1, height);
      }
    } else run.to = to;
    if (marked) {
      flush();
      on.strokeStyle = inks.accent;
      on.lineWidth = 2;
      on.strokeRect(x + from * width + 1, y + 1, Math.max((to - from) * width - 2, 1), height - 2);
    }
  }
  flush();
}

/**
 * @param {CanvasRenderingContext2D} on @param {Scene} scene @param {number} node @param {number} x @param {number} y
 * @param {number} width @param {number} scale
 */
function drawName(on, scene, node, x, y, width, scale) {
  const { nodes } = scene.plan.of;
  on.font = `${Math.min(15, 12 * scale)}px ui-sans-serif, system-ui, sans-serif`;
  const trouble = scene.plan.string(nodes.trouble[node]);
  let room = width;
  if (trouble) {
    on.fillStyle = scene.inks.quiet;
    room -= on.measureText(trouble).width + 6;
    on.fillText(trouble, x + width - on.measureText(trouble).width, y);
  }
  on.fillStyle = scene.inks.ink;
  on.fillText(shortened(on, nodes.name[node], room), x, y);
}

/** A name without its middle, as long as there is room. @param {CanvasRenderingContext2D} on @param {string} name @param {number} room */
function shortened(on, name, room) {
  if (on.measureText(name).width <= room) return name;
  for (let keep = name.length - 2; keep > 3; keep--) {
    const half = Math.ceil(keep / 2);
    const text = `${name.slice(0, half)}…${name.slice(name.length - (keep - half))}`;
    if (on.measureText(text).width <= room) return text;
  }
  return name.slice(0, 2);
}

/**
 * Draws pods between the places where they were and are, over everything else.
 * @param {CanvasRenderingContext2D} on @param {Scene} scene @param {Camera} camera
 */
export function drawMoves(on, scene, camera) {
  const { scale } = camera;
  const { inks, moment } = scene;
  for (const { pod, from, to } of scene.moves) {
    const between = (/** @type {number} */ a, /** @type {number} */ b) => a + (b - a) * moment;
    const x = (between(from.x, to.x) - camera.x) * scale;
    const y = (between(from.y, to.y) - camera.y) * scale;
    const width = Math.max(between(from.width, to.width) * scale, 2);
    const height = NODE.tiles * scale;
    const look = scene.scheme.pod(pod);
    on.fillStyle = look.colour < 0 ? inks.quiet : fill(on, look, inks, height);
    on.fillRect(x, y, width, height);
    if (pod === scene.pod) {
      on.strokeStyle = inks.accent;
      on.lineWidth = 2;
      on.strokeRect(x, y, width, height);
    }
  }
}
