// The canvas of the bays: draws when something changed, pans and zooms, and finds what is pointed at. What is drawn is kept in
// square pieces, so that panning draws only what comes into sight.

import { NODE, nodeAt } from "./layout.js";
import { draw, drawMoves } from "./draw.js";

/**
 * @typedef {import("./draw.js").Scene} Scene
 * @typedef {import("./draw.js").Camera} Camera
 * @typedef {{chose: (node: number, pod: number) => void, moved: (camera: string) => void}} Heard
 */

const NEAREST = 4;
/** The side of a piece in pixels, how many are kept, and for how many milliseconds of a frame new ones are drawn. */
const [PIECE, PIECES, BUDGET] = [192, 400, 8];

export class Bays {
  /** @param {HTMLCanvasElement} canvas @param {Heard} heard */
  constructor(canvas, heard) {
    this.canvas = canvas;
    this.heard = heard;
    /** @type {Scene | null} */
    this.scene = null;
    /** @type {Camera} */
    this.camera = { scale: 1, x: 0, y: 0 };
    this.asked = false;
    this.frames = 0;
    this.picture = document.createElement("canvas");
    /** @type {{scene: Scene | null, scale: number, sharp: number, ready: Map<string, HTMLCanvasElement>}} */
    this.pieces = { scene: null, scale: 0, sharp: 1, ready: new Map() };
    /** @type {Camera | null} Where `picture` was seen from, while pieces are not ready. */
    this.before = null;
    /** @type {Camera} Where the canvas was drawn from. */
    this.shown = this.camera;
    this.whole = false;
    /** @type {{x: number, y: number, moved: boolean} | null} */
    this.held = null;
    canvas.addEventListener("pointerdown", (event) => this.grab(event));
    canvas.addEventListener("pointermove", (event) => this.drag(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    new ResizeObserver(() => this.resized()).observe(canvas);
  }

  get size() {
    return { width: this.canvas.clientWidth || 800, height: this.canvas.clientHeight || 500 };
  }

  /** @param {Scene} scene @param {string} zoom what `moved` was told, or nothing: everything is in sight */
  show(scene, zoom) {
    this.scene = scene;
    const [scale, x, y] = zoom.split(",").map(Number);
    if (scale > 0 && Number.isFinite(x) && Number.isFinite(y)) this.camera = { scale, x, y };
    else this.fit();
    this.ask();
  }

  /** Everything in sight, but nothing larger than it needs to be. */
  fit() {
    if (!this.scene) return;
    const { width, height } = this.size;
    const { layout } = this.scene;
    const scale = Math.min((width - 16) / layout.width, (height - 16) / layout.height, 1.4);
    this.camera = { scale, x: -(width / scale - layout.width) / 2, y: -8 / scale };
    if (layout.width * scale < width / 2) this.camera.x = -8 / scale;
  }

  resized() {
    const { width, height } = this.size;
    const sharp = Math.min(devicePixelRatio || 1, 2);
    this.canvas.width = Math.round(width * sharp);
    this.canvas.height = Math.round(height * sharp);
    this.ask();
  }

  /** Pods move on; what does not move stays as it is. @param {number} moment */
  move(moment) {
    if (this.scene) this.scene.moment = moment;
    this.ask();
  }

  ask() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.paint();
    });
  }

  /** Draws the pieces that are in sight. Pieces that are not ready take a few milliseconds of each frame. @param {number} budget */
  paint(budget = BUDGET) {
    const on = this.canvas.getContext("2d");
    if (!on || !this.scene) return;
    this.frames += 1;
    const { width, height } = this.size;
    const sharp = this.canvas.width / width;
    const { camera, scene } = this;
    if (this.pieces.scene !== scene || this.pieces.scale !== camera.scale || this.pieces.sharp !== sharp) {
      this.keep();
      this.pieces = { scene, scale: camera.scale, sharp, ready: new Map() };
    }
    on.setTransform(1, 0, 0, 1, 0, 0);
    on.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const left = Math.floor((camera.x * camera.scale) / PIECE);
    const top = Math.floor((camera.y * camera.scale) / PIECE);
    const right = Math.floor((camera.x * camera.scale + width) / PIECE);
    const bottom = Math.floor((camera.y * camera.scale + height) / PIECE);
    const end = performance.now() + budget;
    let missing = 0;
    for (let row = top; row <= bottom; row++) {
      for (let column = left; column <= right; column++) {
        const piece = this.piece(column, row, missing === 0 || performance.now() < end);
        missing += piece ? 0 : 1;
        if (!piece) this.fromBefore(on, column, row, sharp);
        else {
          const x = Math.round((column * PIECE - camera.x * camera.scale) * sharp);
          const y = Math.round((row * PIECE - camera.y * camera.scale) * sharp);
          on.drawImage(piece, x, y);
        }
      }
    }
    on.setTransform(sharp, 0, 0, sharp, 0, 0);
    drawMoves(on, scene, camera);
    if (missing > 0) this.ask();
    else this.before = null;
    this.whole = missing === 0;
    this.shown = camera;
  }

  /** What is shown now stays below the pieces until they are ready. */
  keep() {
    if (this.pieces.scene === null || this.before !== null) return;
    this.picture.width = this.canvas.width;
    this.picture.height = this.canvas.height;
    this.picture.getContext("2d")?.drawImage(this.canvas, 0, 0);
    this.before = this.shown;
  }

  /** @param {CanvasRenderingContext2D} on @param {number} column @param {number} row @param {number} sharp */
  fromBefore(on, column, row, sharp) {
    if (!this.before) return;
    const { camera, before } = this;
    const ratio = camera.scale / before.scale;
    const [x, y] = [column * PIECE - camera.x * camera.scale, row * PIECE - camera.y * camera.scale];
    on.save();
    on.beginPath();
    on.rect(x * sharp, y * sharp, PIECE * sharp, PIECE * sharp);
    on.clip();
    on.drawImage(this.picture, (before.x - camera.x) * camera.scale * sharp, (before.y - camera.y) * camera.scale * sharp,
      this.picture.width * ratio, this.picture.height * ratio);
    on.restore();
  }

  /**
   * A square of the picture at the present scale; `null` where it is not ready and there is no time.
   * @param {number} column @param {number} row @param {boolean} time
   */
  piece(column, row, time) {
    const { scene, scale, sharp, ready } = this.pieces;
    const key = `${column},${row}`;
    const known = ready.get(key);
    if (known || !time || !scene) return known ?? null;
    const made = document.createElement("canvas");
    made.width = made.height = Math.ceil(PIECE * sharp);
    const on = made.getContext("2d");
    if (!on) return null;
    on.setTransform(sharp, 0, 0, sharp, 0, 0);
    draw(on, scene, { scale, x: (column * PIECE) / scale, y: (row * PIECE) / scale }, PIECE, PIECE);
    const oldest = ready.size >= PIECES ? ready.keys().next().value : undefined;
    if (oldest !== undefined) ready.delete(oldest);
    ready.set(key, made);
    return made;
  }

  /** @param {number} by @param {number} x @param {number} y the point that stays where it is, in pixels */
  zoom(by, x = this.size.width / 2, y = this.size.height / 2) {
    const { camera } = this;
    const least = Math.min(0.02, camera.scale);
    const scale = Math.max(least, Math.min(NEAREST, camera.scale * by));
    this.camera = {
      scale,
      x: camera.x + x / camera.scale - x / scale,
      y: camera.y + y / camera.scale - y / scale,
    };
    this.moved();
  }

  /** @param {number} x @param {number} y in pixels */
  pan(x, y) {
    const { camera } = this;
    this.camera = { scale: camera.scale, x: camera.x + x / camera.scale, y: camera.y + y / camera.scale };
    this.moved();
  }

  moved() {
    const { scale, x, y } = this.camera;
    this.heard.moved([scale.toFixed(4), x.toFixed(1), y.toFixed(1)].join(","));
    this.ask();
  }

  /** Moves until a node is in sight. @param {number} node */
  reveal(node) {
    if (!this.scene || node < 0 || Number.isNaN(this.scene.layout.x[node])) return;
    const { width, height } = this.size;
    const { camera } = this;
    const x = (this.scene.layout.x[node] - camera.x) * camera.scale;
    const y = (this.scene.layout.y[node] - camera.y) * camera.scale;
    const wide = NODE.width * camera.scale;
    if (x >= 0 && y >= 0 && x + wide <= width && y + wide / 2 <= height) return;
    this.pan(x - width / 2 + wide / 2, y - height / 2);
  }

  /** @param {PointerEvent} event */
  grab(event) {
    this.held = { x: event.clientX, y: event.clientY, moved: false };
    this.canvas.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  drag(event) {
    if (!this.held) return;
    const [x, y] = [event.clientX - this.held.x, event.clientY - this.held.y];
    if (!this.held.moved && Math.hypot(x, y) < 4) return;
    this.held = { x: event.clientX, y: event.clientY, moved: true };
    this.pan(-x, -y);
  }

  /** @param {PointerEvent} event */
  release(event) {
    const held = this.held;
    this.held = null;
    if (!held || held.moved) return;
    const box = this.canvas.getBoundingClientRect();
    this.choose(event.clientX - box.left, event.clientY - box.top);
  }

  /** @param {number} x @param {number} y in pixels of the canvas */
  choose(x, y) {
    if (!this.scene) return;
    const { layout, tilesOn } = this.scene;
    const [at, below] = [x / this.camera.scale + this.camera.x, y / this.camera.scale + this.camera.y];
    const node = nodeAt(layout, at, below);
    if (node < 0) return this.heard.chose(-1, -1);
    const share = (at - layout.x[node]) / NODE.width;
    const height = below - layout.y[node] - NODE.name;
    // A tile is at least two pixels wide.
    const least = 2 / NODE.width / this.camera.scale;
    const tile = height < 0 ? undefined
      : tilesOn(node).find((of) => share >= of.from && share < Math.max(of.to, of.from + least));
    this.heard.chose(node, tile ? tile.pod : -1);
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    event.preventDefault();
    const box = this.canvas.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey || !event.shiftKey) {
      this.zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - box.left, event.clientY - box.top);
    } else this.pan(event.deltaX || event.deltaY, 0);
  }
}
