// The page: reads the document, and shows the view that is chosen.

import { h } from "./dom.js";
import { Plan } from "./plan.js";
import { State, VIEWS } from "./state.js";
import { Unreadable, unpack } from "./unpack.js";
import { BaysView } from "./views/bays.js";
import { moments, moves } from "./views/change.js";
import { matrix } from "./views/matrix.js";
import { chosen } from "./views/node.js";
import { quay } from "./views/quay.js";
import { rule } from "./views/rule.js";
import { why } from "./views/why.js";

/** @typedef {import("./state.js").Choice} Choice */

const text = /** @type {HTMLElement} */ (document.getElementById("text"));
const app = /** @type {HTMLElement} */ (document.getElementById("app"));
text.hidden = true;

try {
  const packed = /** @type {HTMLTemplateElement} */ (document.getElementById("document")).content.textContent ?? "";
  start(new Plan(await unpack(packed)));
} catch (error) {
  const words = error instanceof Unreadable ? error.message : "This page cannot be shown: its file holds something unexpected.";
  app.prepend(h("p", { class: "verdict", role: "alert" }, words));
  text.hidden = false;
}

/** @param {Plan} plan */
function start(plan) {
  const focus = plan.of.focus;
  const view = VIEWS.find((of) => of.view === plan.of.opens)?.view ?? "bays";
  /** @type {Choice} */
  const first = {
    view, pod: focus === undefined ? "" : plan.podName(focus), node: "", cause: "", set: "", rule: "", group: "",
    colour: "", find: "", zoom: "", moment: "",
  };
  const state = new State(first);
  const bays = new BaysView(plan, state);
  const changes = new BaysView(plan, state, true);
  const tabs = h("nav", { "aria-label": "Views" });
  const main = h("main", { id: "view", tabindex: "-1" });
  const side = h("div", { class: "side" });
  const focused = focus === undefined ? undefined : plan.explained.get(focus);
  const answer = focused ? [focused.verdict] : plan.of.answer;
  document.title = `${answer[0] ?? "Bay plan"} · Bayplan`;
  app.replaceChildren(
    h("header", null, h("h1", null, "Bay plan"),
      h("div", { class: "answer" }, answer.map((line) => h("p", null, line))),
      h("p", { class: "quiet" }, `${plan.of.command} of bayplan ${plan.of.program}, ${plan.of.at.slice(0, 16).replace("T", " ")} UTC`)),
    tabs, h("div", { class: "columns" }, main, side),
    h("details", { class: "printed" }, h("summary", null, `What ${plan.of.command} prints as text`), text));
  text.hidden = text.textContent === "";

  const show = (/** @type {Choice} */ choice) => {
    const active = document.activeElement?.getAttribute("data-key") ?? document.activeElement?.id ?? "";
    tabs.replaceChildren(...VIEWS.map((of) => h("button", {
      type: "button", id: `tab-${of.view}`, "aria-current": choice.view === of.view ? "page" : null,
      onclick: () => state.set({ view: of.view }),
    }, of.title)));
    side.replaceChildren(chosen(plan, state, choice));
    if (choice.view === "bays") {
      if (main.firstElementChild !== bays.element) main.replaceChildren(bays.element);
      bays.show(choice);
    } else if (choice.view === "change") {
      const head = moments(plan, state, choice, (now) => changes.move(now));
      if (changes.element.parentElement !== main) main.replaceChildren(head, changes.element, moves(plan, state));
      else if (!main.firstElementChild?.contains(document.activeElement)) main.firstElementChild?.replaceWith(head);
      changes.show(choice);
    } else {
      main.replaceChildren({ quay, matrix, why, rule }[choice.view](plan, state, choice));
    }
    if (active && document.activeElement === document.body) document.getElementById(active)?.focus();
  };
  state.listeners.push(show);
  show(state.choice);
  Object.assign(window, { bayplan: { plan, state, bays } });
}
