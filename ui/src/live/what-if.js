// What if: policies and pods that are dropped onto the page or edited in it, compiled and decided by `bayplan ui` on the cluster
// that is shown. Nothing is written to the cluster.

import { h, link } from "../dom.js";
import { Plan } from "../plan.js";
import { moves, verdict } from "../views/change.js";
import { ask } from "./ask.js";
import { Editor } from "./editor.js";

/**
 * @typedef {import("../screen.js").Screen} Screen
 * @typedef {import("./editor.js").Said} Said
 * @typedef {import("../plan.js").PolicyText} PolicyText
 * @typedef {{name: string, text: string}} Text
 * @typedef {{problem?: string, diagnostics?: Said[], notes?: string[]}} Head
 */

/** After how many milliseconds without a key what is written is tried. */
const REST = 400;
/** The largest file that is taken, in bytes. */
const LARGEST = 1 << 20;

export class WhatIf {
  /** @param {Screen} screen */
  constructor(screen) {
    this.screen = screen;
    /** @type {Text[]} */
    this.texts = [{ name: "policy.bay", text: "" }];
    this.at = 0;
    /** @type {Plan | null} The cluster as it is. */
    this.live = null;
    /** @type {{names: string, old: boolean} | null} What is tried and shown. */
    this.trial = null;
    /** Called when a trial begins, ends or is older than the cluster. */
    this.changed = () => {};
    /** @type {Said[]} */
    this.said = [];
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.later = undefined;
    /** @type {AbortController | undefined} */
    this.asking = undefined;
    this.editor = new Editor((text) => this.wrote(text));
    this.controls = h("div", { class: "controls" });
    this.result = h("div", { class: "result", role: "status" });
    this.list = h("ul", { class: "diagnostics", "aria-label": "Mistakes and warnings" });
    this.moves = h("div");
    this.element = h("section", { class: "what-if", "aria-label": "What if" },
      h("p", null, "Edit a policy, paste a pod or a workload, or drop files onto the page. They are compiled and decided on the cluster as it is shown; nothing is written to it. A policy takes the place of the one of its name, a pod that of the one of its name."),
      this.controls, this.editor.element, this.result, this.list, this.moves);
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      this.take([...(event.dataTransfer?.files ?? [])]);
    });
  }

  get text() {
    return this.texts[this.at] ?? { name: "", text: "" };
  }

  /** A newer document of the cluster. What is tried stays in sight until it is tried again. @param {Plan} plan */
  renewed(plan) {
    this.live = plan;
    if (this.trial) this.trial.old = true;
    else this.screen.show(plan);
    this.changed();
  }

  /** Shows the cluster as it is. */
  stop() {
    clearTimeout(this.later);
    this.asking?.abort();
    this.trial = null;
    this.result.replaceChildren();
    this.moves.replaceChildren();
    if (this.live) this.screen.show(this.live);
    this.changed();
  }

  /** Edits the text of a policy that decides. @param {PolicyText} policy */
  edit(policy) {
    const ending = /^\s*(\/\/|policy\b|except\b|use\b)/.test(policy.text) ? "bay" : "yaml";
    this.add({ name: `${policy.name}.${ending}`, text: policy.text });
  }

  /** @param {File[]} files */
  async take(files) {
    for (const file of files) {
      if (file.size > LARGEST) this.tell(`${file.name} is larger than 1 MiB.`, "bad");
      else this.add({ name: file.name, text: await file.text() });
    }
  }

  /** Adds a text, in place of one that has its name or of an empty one, and shows it. @param {Text} text */
  add(text) {
    const same = this.texts.findIndex((of) => of.name === text.name || (of.text.trim() === "" && text.text !== ""));
    this.at = same < 0 ? this.texts.length : same;
    this.texts[this.at] = text;
    this.said = [];
    this.screen.now?.state.set({ view: "what-if" });
    this.draw();
    this.soon(0);
  }

  remove() {
    this.texts.splice(this.at, 1);
    if (this.texts.length === 0) this.texts.push({ name: "policy.bay", text: "" });
    this.at = Math.max(0, this.at - 1);
    this.draw();
    this.soon(0);
  }

  /** @param {string} text */
  wrote(text) {
    this.text.text = text;
    this.soon(REST);
  }

  /** @param {number} wait */
  soon(wait) {
    clearTimeout(this.later);
    this.later = setTimeout(() => this.ask(), wait);
  }

  /** Has the texts tried. An answer to an older question is not waited for. */
  async ask() {
    const texts = this.texts.filter((of) => of.text.trim() !== "");
    this.asking?.abort();
    if (texts.length === 0) {
      this.said = [];
      this.draw();
      return this.stop();
    }
    const asking = (this.asking = new AbortController());
    const base = this.live;
    this.tell("Being decided …", "quiet");
    const began = performance.now();
    try {
      const { head, document } = await ask("what-if", {
        method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ texts }), signal: asking.signal,
      });
      if (asking.signal.aborted) return;
      const { problem, diagnostics = [], notes = [] } = /** @type {Head} */ (head);
      this.said = diagnostics;
      const seconds = (performance.now() - began) / 1000;
      if (document) this.shows(new Plan(document), base, texts, seconds);
      else this.tell(problem ?? "Nothing was decided: a text has mistakes.", "bad");
      for (const note of notes) this.result.append(h("p", { class: "warn" }, note));
      this.draw();
    } catch (error) {
      if (!asking.signal.aborted) this.tell(`This was not tried: ${error instanceof Error ? error.message : error}`, "bad");
    }
  }

  /** @param {Plan} plan @param {Plan | null} base @param {Text[]} texts @param {number} seconds */
  shows(plan, base, texts, seconds) {
    if (base) plan.base = base;
    this.trial = { names: texts.map((of) => of.name).join(", "), old: this.live !== base };
    this.screen.show(plan);
    this.changed();
    const { state } = /** @type {NonNullable<typeof this.screen.now>} */ (this.screen.now);
    this.tell(verdict(plan), "verdict");
    this.result.append(h("p", { class: "quiet" }, `Decided in ${seconds.toFixed(1)} s. `,
      link("See it before and after", () => state.set({ view: "change", moment: "" })), " · ", link("Show the cluster as it is", () => this.stop())));
    this.moves.replaceChildren(moves(plan, state));
  }

  /** @param {string} words @param {string} kind */
  tell(words, kind) {
    this.result.replaceChildren(h("p", { class: kind }, words));
    if (kind === "bad") this.moves.replaceChildren();
  }

  draw() {
    const { name, text } = this.text;
    const own = this.said.filter((of) => of.file === name);
    this.editor.show(text, own);
    this.list.replaceChildren(...this.said.map((of) => this.one(of)));
    if (this.controls.contains(document.activeElement)) return;
    const policies = this.screen.now?.plan.of.policies.filter((of) => of.text) ?? [];
    const names = this.texts.map((of, at) => h("option", { value: at, selected: at === this.at }, of.name));
    this.controls.replaceChildren(
      h("label", null, "Text ", h("select", { id: "text-of", onchange: (/** @type {Event} */ event) => this.go(Number(value(event))) }, names)),
      h("label", null, "Name ", h("input", {
        id: "text-name", value: name, oninput: (/** @type {Event} */ event) => {
          this.text.name = value(event).trim() || "policy.bay";
          this.soon(REST);
        },
      })),
      ...(policies.length > 0 ? [h("label", null, "Begin with ", h("select", {
        id: "text-policy", onchange: (/** @type {Event} */ event) => {
          const policy = policies.find((of) => of.name === value(event));
          /** @type {HTMLElement} */ (event.target).blur();
          if (policy) this.edit(policy);
        },
      }, [h("option", { value: "" }, "a policy"), ...policies.map((of) => h("option", { value: of.name }, of.name))]))] : []),
      h("label", null, "Files ", h("input", {
        type: "file", id: "text-files", multiple: true, onchange: (/** @type {Event} */ event) => {
          const input = /** @type {HTMLInputElement} */ (event.target);
          input.blur();
          this.take([...(input.files ?? [])]);
        },
      })),
      h("button", { type: "button", onclick: () => { blur(); this.add({ name: this.free(), text: "" }); } }, "New text"),
      h("button", { type: "button", onclick: () => { blur(); this.remove(); } }, "Remove it"));
  }

  /** @param {number} at */
  go(at) {
    this.at = at;
    blur();
    this.draw();
  }

  /** A name that no text has. */
  free() {
    for (let number = this.texts.length + 1; ; number++) {
      const name = `text-${number}`;
      if (!this.texts.some((of) => of.name === name)) return name;
    }
  }

  /** A diagnostic; its place leads into the text. @param {Said} of */
  one(of) {
    const at = this.texts.findIndex((text) => text.name === of.file);
    const place = `${of.file}:${of.start.line}:${of.start.column}`;
    return h("li", { class: of.severity },
      link(place, () => {
        if (at >= 0 && at !== this.at) this.go(at);
        this.editor.select(of);
      }), " ", h("strong", null, `${of.severity}[${of.code}]`), ` ${of.message}`,
      of.labels.filter((label) => label.message).map((label) => h("p", { class: "quiet" }, `${label.start.line}:${label.start.column} ${label.message}`)),
      of.help ? h("p", { class: "quiet" }, `help: ${of.help}`) : null);
  }
}

/** @param {Event} event */
function value(event) {
  return /** @type {HTMLInputElement | HTMLSelectElement} */ (event.target).value;
}

/** Controls are drawn anew when none of them has the focus. */
function blur() {
  /** @type {HTMLElement | null} */ (document.activeElement)?.blur();
}
