// How the views look: pictures that a person has looked at, in `looks`, with the font of `font`. One pixel in a hundred may be
// another one. `make golden-page` writes the pictures anew; look at each before you commit it.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { ROOT, browser, file, run, visit } from "./browser.mjs";

const FLAGS = "--cluster examples/first/cluster.yaml --policies examples/first";
/** By how much a colour may differ, of 255, and how many pixels may differ by more. */
const [CLOSE, TOLERANCE] = [24, 0.01];
const writes = process.env.BAYPLAN_GOLDEN === "write";

/** A page at one instant, whenever the test runs. */
function fixed(line) {
  const document = { ...JSON.parse(run(`${line} -o bay-plan`)), at: "2026-11-01T08:00:00Z", program: "0" };
  const packed = deflateSync(JSON.stringify(document)).toString("base64");
  return file(run(`${line} -o html`).replace(/(<template id="document">)([^<]*)/, `$1${packed}`));
}

const dryRun = fixed(`dry-run ${FLAGS}`);
const waits = fixed(`explain train-c ${FLAGS}`);
const placed = fixed(`explain train-a ${FLAGS}`);

/** The share of pixels in which two pictures differ; 1 if they have other sizes. */
async function difference(one, other) {
  const page = await browser.newPage();
  const share = await page.evaluate(async ([one, other, close]) => {
    const pixels = async (text) => {
      const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
      const on = new OffscreenCanvas(image.width, image.height).getContext("2d");
      on.drawImage(image, 0, 0);
      return on.getImageData(0, 0, image.width, image.height);
    };
    const [a, b] = [await pixels(one), await pixels(other)];
    if (a.width !== b.width || a.height !== b.height) return 1;
    let differ = 0;
    for (let at = 0; at < a.data.length; at += 4) {
      if ([0, 1, 2].some((channel) => Math.abs(a.data[at + channel] - b.data[at + channel]) > close)) differ++;
    }
    return differ / (a.data.length / 4);
  }, [one.toString("base64"), other.toString("base64"), CLOSE]);
  await page.close();
  return share;
}

const VIEWS = [
  ["bays", dryRun, "#view=bays&node=gpu-1&pod=default%2Ftrain-a"],
  ["verdict", waits, "#view=bays&pod=default%2Ftrain-c&colour=verdict"],
  ["dark", waits, "#view=bays&pod=default%2Ftrain-c&colour=verdict", { colorScheme: "dark" }],
  ["quay", dryRun, "#view=quay&cause=1"],
  ["matrix", waits, "#view=matrix"],
  ["why", placed, "#view=why"],
  ["rule", waits, "#view=rule&pod=default%2Ftrain-c&node=gpu-3&rule=gpu-placement%2Fnot-avoided"],
  ["change", dryRun, "#view=change&moment=50"],
  ["phone", dryRun, "#view=quay&cause=1", { viewport: { width: 390, height: 844 } }],
  ["print", waits, "#view=bays&pod=default%2Ftrain-c&colour=verdict", { colorScheme: "dark" }],
];

/** What is wrong with the looks of a view; empty: nothing. */
async function wrong([name, path, hash, options]) {
  let said = "";
  await visit(`file://${path}`, hash, async (page) => {
    if (name === "print") await page.emulateMedia({ media: "print" });
    await page.evaluate(() => document.fonts.ready);
    await page.waitForFunction(() => {
      const { bays, changes, state } = window.bayplan;
      const shown = { bays, change: changes }[state.choice.view];
      return !shown || (shown.bays.whole && !shown.bays.asked);
    });
    const picture = await page.screenshot({ fullPage: name === "print" });
    const golden = join(ROOT, "tests/page/looks", `${name}.png`);
    if (writes) return writeFileSync(golden, picture);
    if (!existsSync(golden)) return void (said = `${golden} does not exist: \`make golden-page\` writes it`);
    const share = await difference(readFileSync(golden), picture);
    if (share <= TOLERANCE) return;
    const seen = golden.replace(/png$/, "seen.png");
    writeFileSync(seen, picture);
    said = `${(share * 100).toFixed(1)} % of the pixels differ: compare ${golden} with ${seen}`;
  }, options);
  return said;
}

test("the looks of the views are those of their pictures", async () => {
  const said = [];
  for (const view of VIEWS) said.push(await wrong(view));
  assert.deepEqual(said.filter(Boolean), []);
});

test("on paper there are no controls, and text is black on white", () =>
  visit(`file://${waits}`, "#view=quay&pod=default%2Ftrain-c", async (page) => {
    await page.emulateMedia({ media: "print" });
    for (const of of ["nav", ".controls", ".copy"]) assert.equal(await page.locator(of).filter({ visible: true }).count(), 0, of);
    assert.ok(await page.locator(".explanation .verdict").isVisible());
    const [ink, paper] = await page.evaluate(() => [getComputedStyle(document.body).color, getComputedStyle(document.documentElement).backgroundColor]);
    assert.deepEqual([ink, paper], ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]);
    // Everything that is wide is on the paper.
    await page.setViewportSize({ width: 718, height: 1000 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  }, { colorScheme: "dark" }));

test("a page of many nodes says that it draws more slowly", () => {
  const document = JSON.parse(run(`dry-run ${FLAGS} -o bay-plan`));
  const many = (column) => Array.from({ length: 20000 }, (_, at) => column[at % 4]);
  const { nodes } = document;
  nodes.name = nodes.name.flatMap((name) => Array.from({ length: 5000 }, (_, at) => `${name}-${at}`));
  for (const field of ["trouble", "scarcest", "slots", "taints"]) nodes[field] = many(nodes[field]);
  for (const field of ["allocatable", "requested"]) nodes[field] = nodes[field].map(many);
  for (const label of nodes.labels) label.value = many(label.value);
  const packed = deflateSync(JSON.stringify(document)).toString("base64");
  const path = file(run(`dry-run ${FLAGS} -o html`).replace(/(<template id="document">)([^<]*)/, `$1${packed}`));
  return visit(`file://${path}`, "#view=bays", async (page) => {
    assert.match(await page.locator("header").innerText(), /20,000 nodes are many: the page draws more slowly\./);
  });
});
