// Files that are not as they should be, names that are markup, and browsers that lack something: a sentence, never a
// program that somebody wrote into a name.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { cluster, file, open, rows, run } from "./browser.mjs";

const FLAGS = "--cluster examples/first/cluster.yaml --policies examples/first";
const html = run(`dry-run ${FLAGS} -o html`);
const plan = JSON.parse(run(`dry-run ${FLAGS} -o bay-plan`));
const SLOT = /(<template id="document">)([^<]*)/;

/** A page with another document. @param {unknown} document */
const withDocument = (document) =>
  file(html.replace(SLOT, `$1${deflateSync(JSON.stringify(document)).toString("base64")}`));

/** What a broken page says. @param {string} path @param {RegExp} sentence */
const says = (path, sentence) =>
  open(path, "", async (page) => {
    assert.match(await page.locator("[role=alert]").innerText(), sentence);
    assert.ok((await page.locator("#text").innerText()).includes("train-c  waits"));
  });

test("a document of another version is named", () =>
  says(withDocument({ ...plan, apiVersion: "bayplan.dev/v2" }), /has BayPlan of bayplan\.dev\/v2\./));

test("a document of another kind is named", () => says(withDocument([1]), /has nothing of no version\./));

test("a file that is cut off says so", () =>
  says(file(html.replace(SLOT, (_, head, text) => `${head}${text.slice(0, 400)}`)), /not complete/));

test("a document that holds something unexpected says so", () =>
  says(withDocument({ apiVersion: plan.apiVersion, kind: plan.kind }), /something unexpected/));

test("without DecompressionStream the text is shown", () => {
  const old = html.replace('<script type="module">', '<script type="module">');
  return open(file(old), "", async (page) => {
    await page.addInitScript(() => delete window.DecompressionStream);
    await page.reload();
    await page.waitForSelector("[role=alert]");
    assert.match(await page.locator("[role=alert]").innerText(), /no DecompressionStream/);
    assert.ok(await page.locator("#text").isVisible());
  });
});

test("without scripts the text of the command is shown", () =>
  open(file(html), "", async (page) => {
    assert.ok((await page.locator("pre").innerText()).includes("train-c  waits"));
    assert.match(await page.locator("noscript").innerText(), /needs scripts/);
  }, { javaScriptEnabled: false }));

test("a cluster without nodes is shown", () => {
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "lonely" }, spec: { containers: [{ name: "c", image: "i" }] } };
  return open(file(run(`dry-run --cluster ${cluster([pod])} -o html`)), "", async (page) => {
    assert.deepEqual(await rows(page, "Pods that wait"), [["1", "-", "the cluster has no nodes", "-"], ["1", "", "", ""]]);
    for (const view of ["bays", "matrix", "why", "rule", "change"]) {
      await page.evaluate((view) => (location.hash = `#view=${view}`), view);
      await page.waitForSelector(`#tab-${view}[aria-current]`);
    }
  });
});

test("a cluster without pods opens on the bays", () => {
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n" }, status: { allocatable: { cpu: "4", memory: "8Gi", pods: "110" } } };
  return open(file(run(`dry-run --cluster ${cluster([node])} -o html`)), "", async (page) => {
    assert.equal(await page.locator("nav [aria-current]").innerText(), "Bays");
    assert.match(await page.locator(".words").innerText(), /^1 node with 0 pods; 0 pods on the quay\./);
  });
});

const HOSTILE = `"><img src=x onerror=alert(1)></template><script>alert(1)</script>\u202e&amp;{{script}}<!--bayplan:document-->`;

test("names that are markup are text in every view", () => {
  const hostile = structuredClone(plan);
  const change = (of) => {
    for (const [key, value] of Object.entries(of)) {
      if (["apiVersion", "kind", "opens", "at"].includes(key)) continue;
      if (typeof value === "string") of[key] = `${value}${HOSTILE}`;
      else if (value && typeof value === "object") change(value);
    }
  };
  const states = new Set(plan.pods.state);
  const words = states.size && [...states].map((at) => plan.strings[at]);
  change(hostile);
  for (const [at, word] of plan.strings.entries()) if (words.includes(word)) hostile.strings[at] = word;
  return open(withDocument(hostile), "", async (page) => {
    for (const view of ["bays", "quay", "matrix", "why", "rule", "change"]) {
      const pod = encodeURIComponent(`default${HOSTILE}/train-c${HOSTILE}`);
      const node = encodeURIComponent(`gpu-3${HOSTILE}`);
      await page.evaluate((hash) => (location.hash = hash), `#view=${view}&pod=${pod}&node=${node}&find=${encodeURIComponent(HOSTILE)}`);
      await page.waitForSelector(`#tab-${view}[aria-current]`);
      assert.equal(await page.evaluate(() => document.querySelectorAll("img, script:not([type=module]), iframe").length), 0, view);
      assert.ok((await page.locator("body").innerText()).includes("<img src=x onerror=alert(1)>"), view);
    }
  });
});

test("names of objects that are markup are text in the file and in the picture", () => {
  const markup = "</template></pre><script>alert(1)</script>";
  const labels = { app: markup, zone: markup };
  const objects = [
    { apiVersion: "v1", kind: "Node", metadata: { name: `n${markup}`, labels }, status: { allocatable: { cpu: "4", memory: "8Gi", pods: "110" } } },
    { apiVersion: "v1", kind: "Pod", metadata: { name: `p${markup}`, namespace: markup, labels },
      spec: { containers: [{ name: "c", image: markup, resources: { requests: { cpu: "1" } } }] } },
  ];
  const path = cluster(objects);
  const made = run(`dry-run --cluster ${path} -o html`);
  assert.equal(made.match(/<script/g).length, 1);
  assert.ok(!run(`dry-run --cluster ${path} -o svg`).includes("<script"));
  return open(file(made), `#view=change`, async (page) => {
    assert.ok((await page.locator("main").innerText()).includes(markup));
  });
});

test("an anonymous file has no name of the cluster", async () => {
  const path = file(run(`explain train-c ${FLAGS} -o html --anonymize`));
  const json = run(`explain train-c ${FLAGS} -o bay-plan --anonymize`);
  for (const name of ["train", "gpu-1", "avoid", "fullest", "not-avoided", "gpu-placement", "examples", "default/"]) {
    assert.ok(!json.includes(name), name);
  }
  await open(path, "#view=bays&pod=namespace-1%2Fpod-4", async (page) => {
    assert.match(await page.locator("body").innerText(), /pod-4: 0 of 4 nodes fit/);
    const legend = await page.locator(".legend li").allInnerTexts();
    assert.match(legend[1], /^rule-\d alone 1 node$/);
    assert.deepEqual(legend, ["NodeResourcesFit alone 3 nodes", legend[1]]);
  });
});

test("a terminal is told to write a file", () => {
  const command = `${process.env.BAYPLAN_BINARY} dry-run ${FLAGS} -o html`;
  let said = "";
  try {
    execFileSync("script", ["-qec", command, "/dev/null"], { encoding: "utf8", cwd: new URL("../..", import.meta.url) });
    assert.fail("a terminal got a page");
  } catch (error) {
    said = error.stdout ?? "";
  }
  assert.match(said, /`-o html` is for a browser; add `> plan\.html` to write a file/);
});

test("what a page shows anyway is refused as a flag", () => {
  for (const flag of ["--node gpu-1", "--fix 1"]) {
    assert.throws(() => run(`explain train-c ${FLAGS} ${flag} -o html`), /leave out `--/);
  }
  assert.throws(() => run(`dry-run ${FLAGS} --anonymize`), /`--anonymize` is for/);
});

test("pods in other states have a page, too", async () => {
  const strange = { apiVersion: "v1", kind: "Pod", metadata: { name: "strange" }, spec: { schedulerName: "other", containers: [{ name: "c", image: "i" }] } };
  const gated = { apiVersion: "v1", kind: "Pod", metadata: { name: "gated" }, spec: { schedulingGates: [{ name: "example.com/quota" }], containers: [{ name: "c", image: "i" }] } };
  const more = cluster([strange, gated]);
  const shown = async (pod, words) =>
    open(file(run(`explain ${pod} ${FLAGS} --cluster ${more} -o html`)), "", async (page) => {
      const text = await page.locator("body").innerText();
      for (const of of words) assert.ok(text.includes(of), `${pod}: ${of}`);
    });
  await shown("infer-1", ["default/infer-1 is on gpu-1", "running"]);
  await shown("gated", ["default/gated is kept out of the queue", "example.com/quota"]);
  await shown("strange", ["Not ours to place: 1 pod of the scheduler other"]);
});
