// The view of the bays: where pods are and what is free, with how it is grouped and coloured, and the nodes as a table.

import { h, link, table } from "../dom.js";
import { Bays } from "../bays/canvas.js";
import { bays, keyOf, keys } from "../bays/groups.js";
import { SCHEMES, colours, entryCount } from "../bays/colours.js";
import { layout, tiles } from "../bays/layout.js";
import { moving } from "../bays/moves.js";
import { inks } from "../bays/draw.js";
import { setsByNode } from "../plan.js";
import { amount, count, counted } from "../words.js";

/**
 * @typedef {import("../plan.js").Plan} Plan
 * @typedef {import("../state.js").State} State
 * @typedef {import("../state.js").Choice} Choice
 * @typedef {import("../bays/colours.js").Scheme} Scheme
 */

/** How many entries of a legend are shown, and how many rows of a table. */
const ENTRIES = 12;
const ROWS = 200;
/** How many bays have a row, and how many applications are named in it. */
const [BAYS, FILLERS] = [50, 3];

export class BaysView {
  /** @param {Plan} plan @param {State} state @param {boolean} [moments] whether pods are where they were before */
  constructor(plan, state, moments = false) {
    this.plan = plan;
    this.state = state;
    this.moments = moments;
    const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", {
      id: "bays", tabindex: "0", role: "application", "aria-describedby": "bays-help",
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
    }));
    this.canvas = canvas;
    this.bays = new Bays(canvas, {
      chose: (node, pod) => state.set({
        node: node < 0 ? "" : this.plan.of.nodes.name[node], ...(pod < 0 ? {} : { pod: this.plan.podName(pod) }),
      }),
      moved: (zoom) => state.adjust({ zoom }),
    });
    this.controls = h("div", { class: "controls" });
    this.legend = h("div", { class: "legend" });
    this.words = h("p", { class: "words" });
    this.said = h("p", { class: "hidden", "aria-live": "polite" });
    this.table = h("details", { class: "as-table" });
    this.sums = h("div");
    this.element = h("section", { class: "bays", "aria-label": "Bays" },
      this.controls, this.words,
      h("p", { id: "bays-help", class: "hidden" },
        "Arrow keys go from node to node, plus and minus zoom, 0 shows everything, Escape chooses nothing."),
      h("div", { class: "zoom" },
        h("button", { type: "button", "aria-label": "Zoom in", onclick: () => this.bays.zoom(1.4) }, "+"),
        h("button", { type: "button", "aria-label": "Zoom out", onclick: () => this.bays.zoom(1 / 1.4) }, "−"),
        h("button", { type: "button", "aria-label": "Show everything", onclick: () => this.all() }, "⤢")),
      canvas, this.said, this.legend, this.sums, this.table);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.show(state.choice));
    // Paper is light, and does not wait for the next frame.
    matchMedia("print").addEventListener("change", () => {
      this.show(state.choice);
      this.bays.paint(Infinity);
    });
  }

  /** The rows of nodes in the order in which arrow keys go through them. @returns {number[]} */
  get order() {
    return this.bays.scene?.layout.bays.flatMap((bay) => bay.nodes) ?? [];
  }

  /** @param {Choice} choice */
  show(choice) {
    const { plan } = this;
    const pod = plan.podRow(choice.pod);
    const node = plan.rowOfNode.get(choice.node) ?? -1;
    const explained = pod < 0 ? undefined : plan.explanationFor(pod);
    const wanted = choice.colour || (explained && plan.of.pods.node[pod] < 0 ? "verdict" : "application");
    const scheme = colours(plan, wanted, explained);
    const found = this.found(choice);
    const group = keyOf(plan, choice.group);
    const shape = layout(plan, bays(plan, group), this.bays.size);
    const sets = choice.set !== "" && explained ? setsByNode(explained) : null;
    const faded = (/** @type {number} */ of) => (found !== null && !found.has(of)) || (sets !== null && sets[of] !== Number(choice.set));
    const moment = this.moments ? momentOf(choice) : 1;
    const podsOn = moment < 0.5 ? this.podsBefore() : plan.podsOn;
    const moves = this.moments ? moving(plan, shape) : null;
    this.canvas.setAttribute("aria-label", this.sentence(podsOn));
    this.bays.show({
      plan, layout: shape, scheme, inks: inks(), chosen: node, pod, faded, moment,
      podsOn: moves ? (of) => plan.podsOn[of].filter((on) => plan.of.pods.before[on] === of) : (of) => plan.podsOn[of],
      tilesOn: moves?.tilesOn ?? ((of) => tiles(plan, of, plan.podsOn[of])), moves: moves?.moves ?? [],
    }, choice.zoom);
    if (choice.zoom) this.bays.reveal(node);
    this.drawControls(choice, group, wanted, explained !== undefined);
    this.drawLegend(choice, scheme);
    this.drawSums(shape.bays.filter((bay) => bay.nodes.length > 0), group, podsOn);
    this.words.textContent = this.sentence(podsOn) + (found ? ` ${counted(found.size, "node")} found.` : "");
    this.said.textContent = node < 0 ? "" : this.nodeWords(node, scheme);
    this.drawTable(choice, shape.bays.flatMap((bay) => bay.nodes).filter((of) => !faded(of)));
  }

  /** How far pods have moved, while it is changed. @param {Choice} choice */
  move(choice) {
    const moment = momentOf(choice);
    this.bays.move(moment);
    this.words.textContent = this.sentence(moment < 0.5 ? this.podsBefore() : this.plan.podsOn);
  }

  /** @returns {number[][]} */
  podsBefore() {
    /** @type {number[][]} */
    const found = this.plan.of.nodes.name.map(() => []);
    this.plan.of.pods.before.forEach((node, pod) => node >= 0 && found[node].push(pod));
    return found;
  }

  /** `4 nodes with 3 pods; 1 pod on the quay.` @param {number[][]} podsOn */
  sentence(podsOn) {
    const { plan } = this;
    const on = podsOn.reduce((sum, pods) => sum + pods.length, 0);
    const waits = podsOn === plan.podsOn
      ? plan.quay.length
      : plan.of.pods.before.filter((node, pod) => node < 0 && plan.state(pod) !== "notOurs").length;
    return `${counted(plan.of.nodes.name.length, "node")} with ${counted(on, "pod")}; ${counted(waits, "pod")} on the quay.`;
  }

  /** @param {number} node @param {Scheme} scheme */
  nodeWords(node, scheme) {
    const { plan } = this;
    const scarcest = plan.of.nodes.scarcest[node];
    const own = scheme.node(node);
    const entry = own && scheme.legend.find((of) => of.look === own || (of.look.colour === own.colour && of.look.hatch === own.hatch));
    const name = plan.of.resources[scarcest];
    const free = scarcest < 0 ? "" : `, ${amount(name, plan.of.nodes.allocatable[scarcest][node] - plan.of.nodes.requested[scarcest][node])} ${name} free`;
    return `${plan.of.nodes.name[node]}: ${counted(plan.podsOn[node].length, "pod")}${free}${entry ? `, ${entry.text}` : ""}`;
  }

  /** The nodes that a search finds, by their names, labels and pods; `null` without one. @param {Choice} choice */
  found(choice) {
    const text = choice.find.trim().toLowerCase();
    if (!text) return null;
    const { plan } = this;
    const { nodes, pods } = plan.of;
    const strings = plan.of.strings.map((of) => of.toLowerCase().includes(text));
    /** @type {Set<number>} */
    const found = new Set();
    nodes.name.forEach((name, node) => {
      const label = () => nodes.labels.some((of) => of.value[node] >= 0 && strings[of.value[node]]);
      if (name.toLowerCase().includes(text) || label()) found.add(node);
    });
    pods.node.forEach((node, pod) => {
      if (node < 0 || found.has(node)) return;
      const hit = strings[pods.application[pod]] || strings[pods.namespace[pod]];
      if (hit || pods.name[pod].toLowerCase().includes(text)) found.add(node);
    });
    return found;
  }

  /** @param {Choice} choice @param {string} group @param {string} wanted @param {boolean} explained */
  drawControls(choice, group, wanted, explained) {
    if (document.activeElement && this.controls.contains(document.activeElement)) return;
    const options = [{ value: "-", text: "nothing" }, ...keys(this.plan).map((value) => ({ value, text: value }))];
    const schemes = SCHEMES.filter((of) => of.value !== "verdict" || explained);
    this.controls.replaceChildren(
      choose("Group by", "group", options, group || "-", (value) => this.state.set({ group: value, zoom: "" })),
      choose("Colour by", "colour", schemes, wanted, (value) => this.state.set({ colour: value })),
      h("label", null, "Find ", h("input", {
        type: "search", id: "find", value: choice.find, placeholder: "node, label or pod",
        oninput: (/** @type {Event} */ event) =>
          this.state.set({ find: /** @type {HTMLInputElement} */ (event.target).value }),
      })));
  }

  /** @param {Choice} choice @param {Scheme} scheme */
  drawLegend(choice, scheme) {
    const shown = scheme.legend.slice(0, ENTRIES);
    const rest = scheme.legend.slice(ENTRIES);
    const items = shown.map((entry) => {
      const { set } = entry;
      const text = set === undefined
        ? h("span", null, entry.text)
        : link(entry.text, () => this.state.set({ set: choice.set === String(set) ? "" : String(set) }),
          { "aria-pressed": String(choice.set === String(set)) });
      return h("li", null, swatch(entry.look), text, " ", h("span", { class: "quiet" }, entryCount(entry)));
    });
    if (rest.length > 0) {
      const sum = rest.reduce((of, entry) => of + entry.count, 0);
      items.push(h("li", { class: "quiet" }, `${counted(rest.length, "other")}: ${counted(sum, rest[0].of)}`));
    }
    this.legend.replaceChildren(h("ul", { "aria-label": "Colours" }, items));
  }

  /**
   * What each bay has, and who fills it: the applications that request most of each resource.
   * @param {{name: string, nodes: number[]}[]} bays @param {string} group @param {number[][]} podsOn
   */
  drawSums(bays, group, podsOn) {
    const { plan } = this;
    const { nodes, resources } = plan.of;
    const rows = bays.slice(0, BAYS).map((bay) => {
      const all = resources.map((_, at) => bay.nodes.reduce((sum, node) => sum + nodes.allocatable[at][node], 0));
      const on = bay.nodes.flatMap((node) => podsOn[node]);
      const used = resources.map((_, at) => on.reduce((sum, pod) => sum + plan.request(pod, at), 0));
      // Of what least is free comes first.
      const order = resources.map((_, at) => at).filter((at) => all[at] > 0 && used[at] > 0).sort((a, b) => used[b] / all[b] - used[a] / all[a]);
      return [bay.name || "all nodes", count(bay.nodes.length), count(on.length),
        ...resources.map((name, at) => (all[at] > 0 ? `${amount(name, all[at] - used[at])} of ${amount(name, all[at])}` : "-")),
        h("ul", { class: "plain" }, order.map((at) => h("li", null, this.fillers(on, at, used[at]))))];
    });
    const head = [{ text: group || "Nodes" }, { text: "Nodes", number: true }, { text: "Pods", number: true },
      ...resources.map((name) => ({ text: `${name} free`, number: true })), { text: "Most is requested by" }];
    const rest = bays.length - rows.length;
    this.sums.replaceChildren(table("The bays with what is free", head, rows),
      ...(rest > 0 ? [h("p", { class: "quiet" }, `and ${counted(rest, "other bay")}`)] : []));
  }

  /** `cpu: web 120, cart 80, others 20`. @param {number[]} on @param {number} resource @param {number} used */
  fillers(on, resource, used) {
    const { plan } = this;
    /** @type {Map<number, number>} */
    const by = new Map();
    for (const pod of on) {
      const application = plan.of.pods.application[pod];
      by.set(application, (by.get(application) ?? 0) + plan.request(pod, resource));
    }
    const name = plan.of.resources[resource];
    const most = [...by].filter(([, wanted]) => wanted > 0).sort((a, b) => b[1] - a[1]).slice(0, FILLERS);
    const rest = used - most.reduce((sum, [, wanted]) => sum + wanted, 0);
    const words = most.map(([application, wanted]) => `${plan.string(application)} ${amount(name, wanted)}`);
    if (rest > 0) words.push(`others ${amount(name, rest)}`);
    return words.length > 0 ? `${name}: ${words.join(", ")}` : "";
  }

  /** @param {Choice} choice @param {number[]} nodes */
  drawTable(choice, nodes) {
    const open = /** @type {HTMLDetailsElement} */ (this.table).open;
    const { plan } = this;
    const summary = h("summary", null, "The nodes as a table");
    if (!open) {
      this.table.replaceChildren(summary);
      this.table.ontoggle = () => this.show(this.state.choice);
      return;
    }
    const head = [{ text: "Node" }, { text: "Pods", number: true },
      ...plan.of.resources.map((text) => ({ text: `${text} free`, number: true }))];
    const rows = nodes.slice(0, ROWS).map((node) => [
      link(plan.of.nodes.name[node], () => this.state.set({ node: plan.of.nodes.name[node] })),
      count(plan.podsOn[node].length),
      ...plan.of.resources.map((name, at) =>
        amount(name, plan.of.nodes.allocatable[at][node] - plan.of.nodes.requested[at][node])),
    ]);
    const rest = nodes.length - rows.length;
    this.table.replaceChildren(summary,
      table("Nodes with what is free", head, rows, { chosen: (row) => plan.of.nodes.name[nodes[row]] === choice.node }),
      ...(rest > 0 ? [h("p", { class: "quiet" }, `and ${counted(rest, "other")}: find some of them by name`)] : []));
  }

  all() {
    this.bays.fit();
    this.state.adjust({ zoom: "" });
    this.bays.ask();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns }[event.key];
    if (step !== undefined) {
      const order = this.order;
      const at = order.indexOf(this.plan.rowOfNode.get(this.state.choice.node) ?? -1);
      const next = order[at < 0 ? 0 : Math.max(0, Math.min(order.length - 1, at + step))];
      if (next !== undefined) {
        this.state.set({ node: this.plan.of.nodes.name[next] });
        this.bays.reveal(next);
      }
    } else if (event.key === "+" || event.key === "=") this.bays.zoom(1.25);
    else if (event.key === "-") this.bays.zoom(1 / 1.25);
    else if (event.key === "0") this.all();
    else if (event.key === "Escape") this.state.set({ node: "", set: "" });
    else return;
    event.preventDefault();
  }

  get columns() {
    return this.bays.scene?.layout.columns ?? 1;
  }
}

/** From 0, before, to 1, after. @param {Choice} choice */
export function momentOf(choice) {
  return Math.max(0, Math.min(100, Number(choice.moment) || 0)) / 100;
}

/** @param {import("../bays/colours.js").Look} look */
function swatch(look) {
  const kind = look.outline ? "outline" : look.colour < 0 ? "bare" : `tile-${look.colour}`;
  const stripe = look.stripe === undefined ? "" : ` stripe-${look.stripe}`;
  return h("span", { class: `swatch ${kind}${look.hatch ? ` hatch${stripe}` : ""}`, "aria-hidden": "true" });
}

/**
 * @param {string} label @param {string} id @param {{value: string, text: string}[]} options @param {string} value
 * @param {(value: string) => void} act
 */
export function choose(label, id, options, value, act) {
  return h("label", null, `${label} `, h("select", {
    id, onchange: (/** @type {Event} */ event) => act(/** @type {HTMLSelectElement} */ (event.target).value),
  }, options.map((of) => h("option", { value: of.value, selected: of.value === value }, of.text))));
}
