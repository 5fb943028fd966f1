// The first example: what each view says is what the commands say.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { AXE, ROOT, count, file, folder, open, rows, run } from "./browser.mjs";

const FLAGS = "--cluster examples/first/cluster.yaml --policies examples/first";
const dryRun = file(run(`dry-run ${FLAGS} -o html`));
const waits = file(run(`explain train-c ${FLAGS} -o html`));
const placed = file(run(`explain train-a ${FLAGS} -o html`));
const explanation = JSON.parse(run(`explain train-c ${FLAGS} -o json`));
const VIEWS = ["bays", "quay", "matrix", "why", "rule", "change"];

test("the page that is checked in is what its sources make", () => {
  const built = join(folder, "built.html");
  execFileSync("tools/page.sh", ["build", built], { cwd: ROOT });
  assert.equal(readFileSync(built, "utf8"), readFileSync(join(ROOT, "src/page/page.html"), "utf8"), "`make page` builds it");
});

test("the answer is that of the commands, and the page opens on the quay where a pod waits", () =>
  open(dryRun, "", async (page) => {
    const [summary] = run(`dry-run ${FLAGS}`).split("\n").filter((line) => /^\d+ pods?: /.test(line));
    const [waiting] = run(`explain ${FLAGS}`).split("\n");
    assert.deepEqual(await page.locator(".answer p").allInnerTexts(), [summary, waiting]);
    assert.equal(await page.locator("nav [aria-current]").innerText(), "Quay");
  }));

test("the quay has the causes of explain", () =>
  open(dryRun, "#view=quay", async (page) => {
    const { causes, waiting } = JSON.parse(run(`explain ${FLAGS} -o json`));
    const expected = causes.map((of) => [count(of.pods), "-", of.cause, of.wouldHelp.what]);
    assert.deepEqual(await rows(page, "Pods that wait"), [...expected, [count(waiting), "", "", ""]]);
  }));

test("a pod that waits has the verdict, the sums and the suggestions of explain", () =>
  open(waits, "", async (page) => {
    const text = run(`explain train-c ${FLAGS}`);
    const [verdict] = text.split("\n");
    assert.equal(await page.locator(".answer p").innerText(), verdict);
    const sets = explanation.sets.map((set) => [count(set.nodes), set.rules.join(", ")]);
    assert.deepEqual(await rows(page, "Nodes by what refuses them"), [...sets, [count(explanation.nodes), ""]]);
    const rules = await rows(page, "Rules");
    assert.deepEqual(rules.map((row) => row.slice(0, 3)), explanation.rules.map((of) => [of.rule, count(of.refuses), count(of.alone)]));
    // The reasons are the words of the text.
    for (const [, , , because] of rules) assert.ok(text.replace(/ +/g, " ").includes(because.replace(/ +/g, " ")), because);
    const helps = await rows(page, "What would help");
    assert.deepEqual(helps.map((row) => row.slice(0, 3)), explanation.wouldHelp.map((of, at) => [`${at + 1}`, of.whose, of.what]));
    for (const [, , , opens] of helps) assert.ok(text.includes(opens), opens);
  }));

test("a patch that is copied is what explain prints", () =>
  open(waits, "", async (page) => {
    await page.evaluate(() => (document.execCommand = () => (window.copied = document.activeElement.value) !== ""));
    await page.getByRole("button", { name: "Copy the patch" }).nth(1).click();
    const patch = run(`explain train-c ${FLAGS} --fix 2`);
    const copied = await page.evaluate(() => window.copied ?? navigator.clipboard.readText());
    assert.equal(copied, patch);
  }, { permissions: ["clipboard-read", "clipboard-write"] }));

test("the matrix adds up to the nodes and marks what refuses alone", () =>
  open(waits, "#view=matrix&pod=default%2Ftrain-c", async (page) => {
    const found = await rows(page, "Rules by sets");
    const sum = found.pop();
    assert.equal(sum.at(-2), count(explanation.nodes));
    assert.equal(sum.slice(1, -2).reduce((all, of) => all + Number(of), 0), explanation.nodes);
    const alone = found.map((row) => row.slice(1, -2).filter((cell) => cell.endsWith("ALONE")).reduce((all, cell) => all + parseInt(cell, 10), 0));
    assert.deepEqual(alone, explanation.rules.map((of) => of.alone));
  }));

test("the bays coloured by the verdict count nodes as explain does", () =>
  open(waits, "#view=bays&pod=default%2Ftrain-c&colour=verdict", async (page) => {
    const legend = await page.locator(".legend li").allInnerTexts();
    const expected = explanation.sets.map((set) => `${set.rules.join(", ")}${set.rules.length === 1 ? " alone" : ""} ${set.nodes} node${set.nodes === 1 ? "" : "s"}`);
    assert.deepEqual(legend, expected);
  }));

test("why here has the scores of the decision, and they add up", () =>
  open(placed, "", async (page) => {
    assert.equal(await page.locator("nav [aria-current]").innerText(), "Why here");
    const { decisions } = JSON.parse(run(`dry-run ${FLAGS} -o json --all-nodes`));
    const decision = decisions.find((of) => of.pod === "default/train-a");
    const [head, ...others] = await page.locator(".why thead th").allInnerTexts();
    assert.equal(head, "Score by");
    const found = await rows(page, "Scores of");
    const totals = found.pop().slice(1).map(Number);
    others.forEach((name, at) => {
      const node = decision.nodes.find((of) => of.name === name);
      assert.equal(totals[at], node.total);
      assert.equal(found.reduce((sum, row) => sum + Number(row[at + 1]), 0), node.total);
    });
  }));

test("a rule shows its text, and the values that explain --node has", () =>
  open(waits, "#view=rule&pod=default%2Ftrain-c&node=gpu-3&rule=gpu-placement%2Fnot-avoided", async (page) => {
    const source = readFileSync(join(ROOT, "examples/first/gpu.bay"), "utf8");
    const lines = (await rows(page, "gpu-placement")).map((row) => row[1]);
    for (const line of lines) assert.ok(source.includes(line), line);
    const { onNode } = JSON.parse(run(`explain train-c ${FLAGS} --node gpu-3 -o json`));
    const [rule] = onNode.policyRules;
    const told = await page.locator(".told").innerText();
    for (const words of [rule.rule, rule.place, rule.reason, rule.condition.text, String(rule.condition.truth)]) {
      assert.ok(told.includes(words), words);
    }
    const beside = (await rows(page, "gpu-placement")).map((row) => row[2]).filter(Boolean);
    assert.deepEqual(beside, ["refuses 1 of 4 nodes, 1 alone"]);
  }));

test("before and after have every pod that got a node", () =>
  open(dryRun, "#view=change", async (page) => {
    const { decisions } = JSON.parse(run(`dry-run ${FLAGS} -o json`));
    const expected = decisions.filter((of) => of.node).map((of) => [of.pod, "quay", of.node]);
    assert.deepEqual((await rows(page, "Pods with another node")).map((row) => row.slice(0, 3)), expected);
    assert.match(await page.locator(".bays .words").innerText(), /^4 nodes with 1 pod; 4 pods on the quay\./);
    await page.getByRole("button", { name: "After", exact: true }).click();
    await page.waitForFunction(() => location.hash.includes("moment=100"));
    assert.match(await page.locator(".bays .words").innerText(), /^4 nodes with 4 pods; 1 pod on the quay\./);
    await page.getByLabel("From before to after").press("Home");
    assert.match(await page.locator(".bays .words").innerText(), /^4 nodes with 1 pod; 4 pods on the quay\./);
  }));

test("a node and a pod that are chosen show what they have", () =>
  open(dryRun, "#view=bays&node=gpu-1&pod=default%2Ftrain-a", async (page) => {
    assert.deepEqual(await rows(page, "What it has"), [
      ["cpu", "32", "16", "16"], ["memory", "256Gi", "96Gi", "160Gi"], ["nvidia.com/gpu", "8", "8", "0"],
    ]);
    assert.match(await page.locator("aside").innerText(), /8 cpu, 64Gi memory, 4 nvidia\.com\/gpu/);
  }));

test("a link shows what its sender saw, and back goes back", () =>
  open(dryRun, "#view=quay", async (page) => {
    await page.getByRole("button", { name: "Insufficient nvidia.com/gpu" }).click();
    await page.getByRole("button", { name: "Colour the bays by what refuses it" }).click();
    await page.getByRole("button", { name: "NodeResourcesFit alone" }).click();
    await page.getByLabel("Find").fill("gpu");
    const seen = await page.locator("#view").innerText();
    const address = page.url();
    await page.goto("about:blank");
    await page.goto(address);
    await page.waitForSelector("nav button");
    assert.equal(await page.locator("#view").innerText(), seen);
    assert.match(seen, /3 nodes found/);
    await page.getByRole("button", { name: "Rule", exact: true }).click();
    await page.goBack();
    assert.equal(await page.locator("nav [aria-current]").innerText(), "Bays");
  }).catch((error) => { if (!/about:blank/.test(error.message)) throw error; }));

test("everything can be reached by keyboard", () =>
  open(dryRun, "#view=quay", async (page) => {
    const press = async (key, times = 1) => { for (; times > 0; times--) await page.keyboard.press(key); };
    const focused = () => page.evaluate(() => document.activeElement.textContent || document.activeElement.id);
    const reach = async (name) => {
      for (let tries = 0; tries < 60; tries++) {
        await press("Tab");
        if ((await focused()) === name) return;
      }
      assert.fail(`${name} cannot be reached`);
    };
    await reach("Insufficient nvidia.com/gpu");
    await press("Enter");
    await reach("default/train-c4 cpu, 16Gi memory, 2 nvidia.com/gpu-");
    await press("Enter");
    assert.match(await page.locator("aside").innerText(), /default\/train-c/);
    await reach("Bays");
    await press("Enter");
    await reach("bays");
    await press("ArrowRight", 3);
    assert.match(await page.locator("aside").innerText(), /gpu-3/);
    assert.match(await page.locator("[aria-live]").innerText(), /^gpu-3: 0 pods/);
    await press("Escape");
    assert.doesNotMatch(await page.locator("aside").innerText(), /gpu-3/);
  }));

for (const scheme of ["light", "dark"]) {
  test(`axe-core finds nothing, ${scheme}`, () =>
    open(waits, "", async (page) => {
      for (const view of VIEWS) {
        await page.evaluate((view) => (location.hash = `#view=${view}&pod=default%2Ftrain-c&node=gpu-3`), view);
        await page.waitForSelector(`#tab-${view}[aria-current]`);
        await page.evaluate(AXE);
        const { violations } = await page.evaluate(() => window.axe.run());
        const found = violations.map((of) => `${view}: ${of.id} ${of.nodes.map((node) => node.target).join(" ")}`);
        assert.deepEqual(found, []);
      }
    }, { colorScheme: scheme }));
}

test("a phone reads it without scrolling sideways", () =>
  open(waits, "", async (page) => {
    for (const view of VIEWS) {
      await page.evaluate((view) => (location.hash = `#view=${view}&pod=default%2Ftrain-c&node=gpu-3`), view);
      await page.waitForSelector(`#tab-${view}[aria-current]`);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, view);
    }
  }, { viewport: { width: 390, height: 800 } }));

test("the picture has the colours of the legend", () =>
  open(waits, "#view=bays&pod=default%2Ftrain-c&colour=verdict", async (page) => {
    await page.waitForFunction(() => window.bayplan.bays.bays.whole);
    const seen = await page.evaluate(() => {
      const { bays } = window.bayplan.bays;
      const { layout, inks } = bays.scene;
      const { data, width } = bays.canvas.getContext("2d").getImageData(0, 0, bays.canvas.width, bays.canvas.height);
      const sharp = bays.canvas.width / bays.canvas.clientWidth;
      return window.bayplan.plan.of.nodes.name.map((_, node) => {
        const x = (layout.x[node] + 70 - bays.camera.x) * bays.camera.scale * sharp;
        const y = (layout.y[node] + 29 - bays.camera.y) * bays.camera.scale * sharp;
        const at = (Math.round(y) * width + Math.round(x)) * 4;
        return inks.tiles.indexOf(`#${[...data.slice(at, at + 3)].map((of) => of.toString(16).padStart(2, "0")).join("")}`);
      });
    });
    // Three nodes are refused by the rule of the first colour, gpu-3 by that of the second.
    assert.deepEqual(seen, [0, 0, 1, 0]);
  }));

test("a click in the picture chooses the node and the pod that are there", () =>
  open(dryRun, "#view=bays", async (page) => {
    const box = await page.locator("#bays").boundingBox();
    const at = await page.evaluate(() => {
      const { bays } = window.bayplan.bays;
      const node = window.bayplan.plan.rowOfNode.get("gpu-1");
      return { x: (bays.scene.layout.x[node] + 20 - bays.camera.x) * bays.camera.scale, y: (bays.scene.layout.y[node] + 29 - bays.camera.y) * bays.camera.scale };
    });
    await page.mouse.click(box.x + at.x, box.y + at.y);
    const text = await page.locator("aside").innerText();
    assert.match(text, /gpu-1/);
    assert.match(text, /default\/train-a/);
    await page.mouse.wheel(0, -300);
    await page.waitForFunction(() => location.hash.includes("zoom="));
    // As many steps as a hand makes in a few seconds: the browser has nothing to say against it.
    for (let step = 0; step < 400; step++) await page.evaluate((x) => window.bayplan.bays.bays.pan(x, 0), step % 2 ? 3 : -3);
  }));
