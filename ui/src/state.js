// What is chosen, kept in the address behind `#`: a link shows what its sender saw.

/**
 * @typedef {"bays" | "quay" | "matrix" | "why" | "rule" | "change" | "what-if"} View
 * @typedef {{view: View, pod: string, node: string, cause: string, set: string, rule: string, group: string,
 *   colour: string, find: string, zoom: string, moment: string}} Choice
 */

/** @type {{view: View, title: string}[]} */
export const VIEWS = [
  { view: "bays", title: "Bays" },
  { view: "quay", title: "Quay" },
  { view: "matrix", title: "Matrix" },
  { view: "why", title: "Why here" },
  { view: "rule", title: "Rule" },
  { view: "change", title: "Before / after" },
  { view: "what-if", title: "What if" },
];

/** The views of a file, which cannot ask what would be. */
export const OF_FILES = VIEWS.filter(({ view }) => view !== "what-if");

/** @type {(keyof Choice)[]} */
const FIELDS = ["view", "pod", "node", "cause", "set", "rule", "group", "colour", "find", "zoom", "moment"];

/** @param {string} hash @param {Choice} start @returns {Choice} */
export function fromHash(hash, start) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const choice = { ...start };
  if (![...given.keys()].length) return choice;
  for (const field of FIELDS) {
    const value = given.get(field);
    Object.assign(choice, { [field]: value ?? (field === "view" ? start.view : "") });
  }
  if (!VIEWS.some(({ view }) => view === choice.view)) choice.view = start.view;
  return choice;
}

/** @param {Choice} choice */
export function toHash(choice) {
  const text = new URLSearchParams();
  for (const field of FIELDS) if (choice[field]) text.set(field, choice[field]);
  return `#${text}`;
}

/** What is chosen now, and who wants to know when that changes. */
export class State {
  /** @param {Choice} start */
  constructor(start) {
    this.start = start;
    this.choice = fromHash(location.hash, start);
    /** @type {((choice: Choice, before: Choice) => void)[]} */
    this.listeners = [];
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.later = undefined;
    addEventListener("hashchange", () => this.take(fromHash(location.hash, start), false));
  }

  /** @param {Partial<Choice>} change */
  set(change) {
    this.take({ ...this.choice, ...change }, true);
  }

  /** A change of looks, which makes no step to go back to. @param {Partial<Choice>} change */
  adjust(change) {
    this.choice = { ...this.choice, ...change };
    clearTimeout(this.later);
    // Browsers refuse a new address for every frame.
    this.later = setTimeout(() => this.write(), 150);
  }

  /** Writes what was adjusted. */
  write() {
    clearTimeout(this.later);
    this.later = undefined;
    history.replaceState(null, "", toHash(this.choice));
  }

  /** @param {Choice} choice @param {boolean} write */
  take(choice, write) {
    const before = this.choice;
    if (toHash(choice) === toHash(before)) return;
    if (write && this.later !== undefined) this.write();
    clearTimeout(this.later);
    this.later = undefined;
    this.choice = choice;
    if (write) history.pushState(null, "", toHash(choice));
    for (const listener of this.listeners) listener(choice, before);
  }
}
