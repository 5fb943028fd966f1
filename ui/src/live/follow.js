// Follows the cluster: asks for what is newer than what is shown while the page is in sight, and says how old it is.

import { h, link } from "../dom.js";
import { Plan } from "../plan.js";
import { age } from "../words.js";
import { Refused, ask } from "./ask.js";

/**
 * @typedef {import("../screen.js").Screen} Screen
 * @typedef {{at: number, lost: {seconds: number, why: string} | null, problem: string, notes: string}} Head
 */

/** After how many milliseconds a server that does not answer is asked again. */
const PAUSE = 1000;

/** @param {Screen} screen */
export async function follow(screen) {
  const status = new Status(screen);
  const { whatIf } = screen;
  for (let seen = 0; ;) {
    await sight();
    try {
      const { head, document } = await ask(`document?after=${seen}`, { signal: AbortSignal.timeout(60000) });
      const { at } = /** @type {Head} */ (head);
      seen = at;
      status.heard(/** @type {Head} */ (head));
      if (document) whatIf?.renewed(new Plan(document));
    } catch (error) {
      // A server that starts again counts from the beginning.
      seen = 0;
      status.silent(error instanceof Refused ? error.message : "");
      await new Promise((done) => setTimeout(done, PAUSE));
    }
    status.draw();
  }
}

/** A page that is not in sight asks nothing: browsers hold few connections to one server. */
async function sight() {
  while (document.visibilityState === "hidden") {
    await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
  }
}

/** How old the document is, and why. */
class Status {
  /** @param {Screen} screen */
  constructor(screen) {
    this.screen = screen;
    /** @type {{since: number, why: string} | null} Since when the API server does not answer. */
    this.lost = null;
    /** @type {{since: number, why: string} | null} Since when `bayplan ui` does not answer. */
    this.gone = null;
    this.problem = "";
    this.notes = "";
    this.said = "";
    /** Tells a screen reader once what changes every second. */
    this.loud = h("p", { class: "hidden", role: "status" });
    this.line = h("p", { class: "live" });
    this.more = h("div");
    screen.status.replaceChildren(this.loud, this.line, this.more);
    setInterval(() => this.draw(), 1000);
    if (screen.whatIf) screen.whatIf.changed = () => this.draw();
  }

  /** @param {Head} head */
  heard({ lost, problem, notes }) {
    this.gone = null;
    this.lost = lost ? { since: Date.now() - lost.seconds * 1000, why: lost.why } : null;
    if (problem !== this.problem || notes !== this.notes) {
      [this.problem, this.notes] = [problem, notes];
      this.more.replaceChildren(
        ...(problem ? [h("p", { class: "bad", role: "alert" }, "There is no newer bay plan:"), h("pre", { class: "said" }, problem)] : []),
        ...(notes ? [h("details", null, h("summary", null, "Warnings"), h("pre", { class: "said" }, notes))] : []));
    }
  }

  /** @param {string} why */
  silent(why) {
    this.gone = { since: this.gone?.since ?? Date.now(), why };
  }

  draw() {
    const for_ = (/** @type {number} */ since) => age(Math.max(0, Math.round((Date.now() - since) / 1000)));
    const [kind, words] = this.gone
      ? ["gone", this.gone.why || `bayplan ui has not answered for ${for_(this.gone.since)}: does it still run?`]
      : this.lost
        ? ["lost", `The cluster cannot be followed for ${for_(this.lost.since)}: ${this.lost.why}.`]
        : ["live", "Live."];
    const { now, whatIf } = this.screen;
    const of = now ? ` What is shown is of ${now.plan.of.at.slice(11, 19)} UTC.` : "";
    this.line.textContent = kind === "live" ? words : words + of;
    this.line.className = `live ${kind === "live" ? "quiet" : "warn"}`;
    if (kind !== this.said) {
      this.said = kind;
      this.loud.textContent = this.line.textContent;
    }
    if (whatIf?.trial && now) {
      const { state } = now;
      this.line.append(" ", h("strong", null, `What if: ${whatIf.trial.names}.`), " ",
        link("Before and after", () => state.set({ view: "change" })), " · ", link("Edit", () => state.set({ view: "what-if" })),
        " · ", link("Show the cluster as it is", () => whatIf.stop()),
        ...(whatIf.trial.old ? [" · The cluster has changed since: ", link("try again", () => whatIf.ask())] : []));
    }
  }
}
