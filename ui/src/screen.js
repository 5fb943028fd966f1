// The page around the views: the answer, the tabs, what is chosen. A new document takes the place of the last one, and what is
// chosen, focused and unfolded stays.

import { h } from "./dom.js";
import { WhatIf } from "./live/what-if.js";
import { OF_FILES, State, VIEWS } from "./state.js";
import { BaysView } from "./views/bays.js";
import { moments, moves } from "./views/change.js";
import { matrix } from "./views/matrix.js";
import { chosen } from "./views/node.js";
import { quay } from "./views/quay.js";
import { rule } from "./views/rule.js";
import { why } from "./views/why.js";
import { count } from "./words.js";

/**
 * @typedef {import("./plan.js").Plan} Plan
 * @typedef {import("./state.js").Choice} Choice
 */

/** From how many nodes on the page says that it is slow. */
const LARGE = 20000;

export class Screen {
  /** @param {HTMLElement} app @param {HTMLElement} text what the command prints @param {boolean} served whether there is more to ask */
  constructor(app, text, served) {
    this.app = app;
    this.text = text;
    this.views = served ? VIEWS : OF_FILES;
    /** How old the document is, and what is wrong with newer ones. */
    this.status = h("div", { class: "status" });
    this.answer = h("div", { class: "answer" });
    this.made = h("p", { class: "quiet" });
    this.tabs = h("nav", { "aria-label": "Views" });
    this.main = h("main", { id: "view", tabindex: "-1" });
    this.side = h("div", { class: "side" });
    this.whatIf = served ? new WhatIf(this) : undefined;
    /** @type {{plan: Plan, state: State, bays: BaysView, changes: BaysView} | undefined} */
    this.now = undefined;
    if (served) app.replaceChildren(this.status, h("p", { class: "verdict" }, "The bay plan is being made …"));
  }

  /** Shows a document. @param {Plan} plan */
  show(plan) {
    const now = this.now ?? this.begin(plan);
    Object.assign(now, { plan });
    now.bays.plan = now.changes.plan = plan;
    const { focus, answer, command, program, at, nodes } = plan.of;
    const focused = focus === undefined ? undefined : plan.explained.get(focus);
    const lines = focused ? [focused.verdict] : answer;
    document.title = `${lines[0] ?? "Bay plan"} · Bayplan`;
    this.answer.replaceChildren(...lines.map((line) => h("p", null, line)));
    const large = nodes.name.length >= LARGE ? ` ${count(nodes.name.length)} nodes are many: the page draws more slowly.` : "";
    const from = command === "ui" ? "Pods that wait are where the next decisions would place them" : `${command} of bayplan ${program}`;
    this.made.textContent = `${from}, ${at.slice(0, command === "ui" ? 19 : 16).replace("T", " ")} UTC.${large}`;
    this.draw(now.state.choice, true);
    Object.assign(window, { bayplan: now });
  }

  /** Makes what is there for all documents. @param {Plan} plan the first one */
  begin(plan) {
    const view = VIEWS.find((of) => of.view === plan.of.opens)?.view ?? "bays";
    /** @type {Choice} */
    const first = {
      view, pod: plan.of.focus === undefined ? "" : plan.podName(plan.of.focus), node: "", cause: "", set: "", rule: "",
      group: "", colour: "", find: "", zoom: "", moment: "",
    };
    const state = new State(first);
    const now = { plan, state, bays: new BaysView(plan, state), changes: new BaysView(plan, state, true) };
    const printed = this.text.textContent === "" ? null
      : h("details", { class: "printed" }, h("summary", null, `What ${plan.of.command} prints as text`), this.text);
    this.app.replaceChildren(
      h("header", null, h("h1", null, "Bay plan"), this.answer, this.made, this.status),
      this.tabs, h("div", { class: "columns" }, this.main, this.side), ...(printed ? [printed] : []));
    this.text.hidden = false;
    state.listeners.push((choice) => this.draw(choice, false));
    this.now = now;
    return now;
  }

  /** @param {Choice} choice @param {boolean} renewed whether the document is another one */
  draw(choice, renewed) {
    if (!this.now) return;
    const { plan, state, bays, changes } = this.now;
    const { main } = this;
    const [stays, place] = [memory(this.app), scrollY];
    const view = this.views.some((of) => of.view === choice.view) ? choice.view : state.start.view;
    this.tabs.replaceChildren(...this.views.map((of) => h("button", {
      type: "button", id: `tab-${of.view}`, "aria-current": view === of.view ? "page" : null,
      onclick: () => state.set({ view: of.view }),
    }, of.title)));
    this.side.replaceChildren(chosen(plan, state, choice));
    if (view === "bays") {
      if (main.firstElementChild !== bays.element) main.replaceChildren(bays.element);
      bays.show(choice);
    } else if (view === "change") {
      const head = moments(plan, state, choice, (now) => changes.move(now));
      if (changes.element.parentElement !== main || renewed) main.replaceChildren(head, changes.element, moves(plan, state));
      else if (!main.firstElementChild?.contains(document.activeElement)) main.firstElementChild?.replaceWith(head);
      changes.show(choice);
    } else if (view === "what-if") {
      const element = this.whatIf?.element ?? h("section");
      if (main.firstElementChild !== element) main.replaceChildren(element);
      this.whatIf?.draw();
    } else if (view === "rule") {
      main.replaceChildren(rule(plan, state, choice, this.whatIf && ((policy) => this.whatIf?.edit(policy))));
    } else {
      main.replaceChildren({ quay, matrix, why }[view](plan, state, choice));
    }
    stays();
    if (renewed && scrollY !== place) scrollTo(scrollX, place);
  }
}

/** What is focused and unfolded, to make it so again in elements that take the place of others. @param {HTMLElement} app */
function memory(app) {
  const active = document.activeElement;
  const [id, tag, text] = [active?.id ?? "", active?.tagName ?? "", active?.textContent ?? ""];
  const name = (/** @type {Element} */ of) => of.querySelector("summary")?.textContent?.replace(/[\d,]+/g, "") ?? "";
  const unfolded = new Map([...app.querySelectorAll(".side details")].map((of) => [name(of), of.hasAttribute("open")]));
  return () => {
    for (const of of app.querySelectorAll(".side details")) {
      const open = unfolded.get(name(of));
      if (open !== undefined) of.toggleAttribute("open", open);
    }
    if (document.activeElement !== document.body || !tag || tag === "BODY") return;
    const same = id ? document.getElementById(id) : [...app.querySelectorAll(tag)].find((of) => of.textContent === text);
    /** @type {HTMLElement | null | undefined} */ (same)?.focus({ preventScroll: true });
  };
}
