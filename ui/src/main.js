// The page: reads the document and shows it; a page that is served asks for documents.

import { h } from "./dom.js";
import { follow } from "./live/follow.js";
import { Plan } from "./plan.js";
import { Screen } from "./screen.js";
import { Unreadable, unpack } from "./unpack.js";

const text = /** @type {HTMLElement} */ (document.getElementById("text"));
const app = /** @type {HTMLElement} */ (document.getElementById("app"));
text.hidden = true;

try {
  const packed = /** @type {HTMLTemplateElement} */ (document.getElementById("document")).content.textContent ?? "";
  if (packed.trim() === "served") follow(new Screen(app, text, true));
  else new Screen(app, text, false).show(new Plan(await unpack(packed)));
} catch (error) {
  const words = error instanceof Unreadable ? error.message : "This page cannot be shown: its file holds something unexpected.";
  app.prepend(h("p", { class: "verdict", role: "alert" }, words));
  text.hidden = false;
}
