// What the tests of the page share: the program, the browser, and a page that is open and asks for nothing.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { after } from "node:test";

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const packages = createRequire(join(process.env.BAYPLAN_NODE, "package.json"));
const { chromium } = packages("playwright-core");
/** The text of axe-core. */
export const AXE = packages("axe-core").source;

/** A folder that is gone when the tests end. */
export const folder = mkdtempSync(join(tmpdir(), "bayplan-page-"));
// Letters are those of `font`, on every machine.
const env = { ...process.env, FONTCONFIG_FILE: join(ROOT, "tests/page/font/fonts.conf") };
export const browser = await chromium.launch({ executablePath: process.env.BAYPLAN_CHROMIUM, args: ["--no-sandbox"], env });
/** Programs that were started. */
const started = [];
after(async () => {
  await browser.close();
  for (const program of started) program.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** What the program prints. @param {string} line arguments, with blanks between them */
export function run(line) {
  const options = { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] };
  return execFileSync(process.env.BAYPLAN_BINARY, line.split(" "), options);
}

let files = 0;

/** A page in a file. @param {string} html */
export function file(html) {
  const path = join(folder, `${++files}.html`);
  writeFileSync(path, html);
  return path;
}

/** A cluster in a file. @param {object[]} items */
export function cluster(items) {
  const path = join(folder, `cluster-${++files}.json`);
  writeFileSync(path, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  return path;
}

/**
 * Opens a file, does something with it, and holds that the page asked for nothing, said nothing and failed nowhere.
 * @param {string} path @param {string} hash @param {(page: any) => Promise<void>} act @param {object} [options]
 */
export async function open(path, hash, act, options = {}) {
  return visit(`file://${path}`, hash, act, options);
}

/** As `open`, of any address; below it the page may ask. `loud`: what the browser says about lost connections is no trouble. */
export async function visit(address, hash, act, { loud = false, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  const trouble = [];
  page.on("console", (message) => (loud && /Failed to load resource/.test(message.text())) || trouble.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => trouble.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => trouble.push(`dialog: ${dialog.message()}`));
  page.on("request", (request) => request.url().startsWith(address) || trouble.push(`request: ${request.url()}`));
  await page.goto(`${address}${hash}`);
  if (options.javaScriptEnabled !== false) await page.waitForSelector("nav button, [role=alert]");
  await act(page, context);
  assert.deepEqual(trouble, []);
  await context.close();
}

/** Starts a program that is killed when the tests end. @param {string} path @param {string[]} args @param {object} [options] */
export function start(path, args, options = {}) {
  const program = spawn(path, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"], ...options });
  started.push(program);
  return program;
}

/** `bayplan ui` with these flags; with its address. @param {string} line */
export async function ui(line) {
  const program = start(process.env.BAYPLAN_BINARY, ["ui", ...line.split(" ")]);
  let said = "";
  program.stderr.on("data", (bytes) => (said += bytes));
  const address = await new Promise((done, failed) => {
    program.stdout.once("data", (bytes) => done(String(bytes).trim()));
    program.once("exit", (status) => failed(new Error(`bayplan ui ended with ${status}: ${said}`)));
  });
  return { address, program, said: () => said };
}

/** The rows of a table as texts. @param {any} page @param {string} caption the beginning of its caption */
export async function rows(page, caption) {
  return page.evaluate((caption) => {
    const table = [...document.querySelectorAll("table")].find((of) => of.caption?.textContent.startsWith(caption));
    if (!table) return null;
    return [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
  }, caption);
}

/** `1,310`. */
export const count = (number) => number.toLocaleString("en-US");
