// Reads the document out of the file: base64, then zlib. Everything that may be wrong with a file is a sentence.

/** @typedef {import("./plan.js").Document} Document */

/** A file that cannot be shown, in a sentence. */
export class Unreadable extends Error {}

/** @param {string} text @returns {Promise<Document>} */
export async function unpack(text) {
  return inflate(() => bytes(text.trim()));
}

/** @param {() => Uint8Array<ArrayBuffer>} packed @returns {Promise<Document>} */
export async function inflate(packed) {
  if (typeof DecompressionStream === "undefined") {
    throw new Unreadable("This browser cannot unpack the page: it has no DecompressionStream. Use a newer one.");
  }
  let json = "";
  try {
    const stream = new Blob([packed()]).stream().pipeThrough(new DecompressionStream("deflate"));
    json = await new Response(stream).text();
  } catch {
    throw new Unreadable("This file is not complete: what it shows cannot be unpacked. Write it again.");
  }
  return read(json);
}

/** Bytes of base64; newer browsers have a fast way. @param {string} text @returns {Uint8Array<ArrayBuffer>} */
function bytes(text) {
  const fast = /** @type {{fromBase64?: (text: string) => Uint8Array<ArrayBuffer>}} */ (Uint8Array).fromBase64;
  if (fast) return fast.call(Uint8Array, text);
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/** @param {string} json @returns {Document} */
export function read(json) {
  /** @type {unknown} */
  let found;
  try {
    found = JSON.parse(json);
  } catch {
    throw new Unreadable("This file is not complete: what it shows is cut off. Write it again.");
  }
  const document = /** @type {Partial<Document> | null} */ (found);
  if (document?.kind !== "BayPlan" || document.apiVersion !== "bayplan.dev/v1") {
    const got = `${document?.kind ?? "nothing"} of ${document?.apiVersion ?? "no version"}`;
    throw new Unreadable(`This page shows a BayPlan of bayplan.dev/v1, and the file has ${got}.`);
  }
  return /** @type {Document} */ (found);
}
