// Asks the server that the page comes from. An answer is a line of JSON, and a packed document behind it, or nothing.

import { inflate } from "../unpack.js";

/** The server refuses: this page is not one of those that it serves. */
export class Refused extends Error {}

/**
 * @template Head
 * @param {string} path @param {RequestInit} [options]
 * @returns {Promise<{head: Head, document: import("../plan.js").Document | null}>}
 */
export async function ask(path, options = {}) {
  const response = await fetch(path, { cache: "no-store", ...options });
  if (response.status === 403) throw new Refused("This address is not valid any more: open the one that bayplan ui printed last.");
  if (!response.ok) throw new Error((await response.text()).trim());
  const bytes = new Uint8Array(await response.arrayBuffer());
  const end = bytes.indexOf(10);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)));
  return { head, document: head.document ? await inflate(() => bytes.slice(end + 1)) : null };
}
