// A cluster of 500 nodes: the numbers of every view are those of the commands.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AXE, count, file, open, rows, run } from "./browser.mjs";
import { world } from "./world.mjs";

const FLAGS = world();
const page = file(run(`dry-run ${FLAGS} -o html`));
const waiting = JSON.parse(run(`explain ${FLAGS} -o json`));
const dryRun = JSON.parse(run(`dry-run ${FLAGS} -o json`));
const name = (pod) => encodeURIComponent(pod);

/** A pod of each cause that has an explanation of nodes. */
const examples = waiting.causes.map((of) => of.templates[0].pods[0]);

test("the quay has every cause, and the pods of each", () => {
  assert.ok(waiting.causes.length >= 6, "the cluster has too few causes");
  return open(page, "#view=quay", async (tab) => {
    const found = await rows(tab, "Pods that wait");
    assert.deepEqual(found.map((row) => [row[0], row[2]]),
      [...waiting.causes.map((of) => [count(of.pods), of.cause]), [count(waiting.waiting), ""]]);
    for (const [at, cause] of waiting.causes.entries()) {
      await tab.evaluate((at) => (location.hash = `#view=quay&cause=${at + 1}`), at);
      await tab.waitForFunction((at) => document.querySelector(".quay h2")?.textContent.endsWith(`for cause ${at + 1}`), at);
      const names = await tab.locator(".container .name").allInnerTexts();
      assert.deepEqual(names.sort(), cause.templates.flatMap((of) => of.pods).sort());
    }
  });
});

test("each cause is explained as explain does", () =>
  open(page, "", async (tab) => {
    let compared = 0;
    for (const pod of examples) {
      const explanation = JSON.parse(run(`explain ${pod} ${FLAGS} -o json`));
      await tab.evaluate((hash) => (location.hash = hash), `#view=quay&pod=${name(pod)}`);
      await tab.waitForFunction((pod) => document.querySelector("aside h2")?.textContent === pod, pod);
      const own = (await tab.locator(".explanation .quiet button").count()) === 0;
      if (!own || (await tab.locator(".explanation").count()) === 0) continue;
      compared += 1;
      assert.equal(await tab.locator(".explanation .verdict").innerText(), explanation.verdict);
      const rules = await rows(tab, "Rules");
      assert.deepEqual((rules ?? []).map((row) => row.slice(0, 3)), explanation.rules.map((of) => [of.rule, count(of.refuses), count(of.alone)]));
      await tab.evaluate((hash) => (location.hash = hash), `#view=matrix&pod=${name(pod)}`);
      await tab.waitForSelector("#tab-matrix[aria-current]");
      const sum = (await rows(tab, "Rules by sets"))?.pop();
      if (!sum || !explanation.sets.length) continue;
      assert.equal(sum.at(-2), count(explanation.nodes));
      assert.deepEqual(sum.slice(1, 1 + explanation.sets.length), explanation.sets.map((set) => count(set.nodes)));
      await tab.evaluate((hash) => (location.hash = hash), `#view=bays&pod=${name(pod)}&colour=verdict`);
      await tab.waitForSelector("#tab-bays[aria-current]");
      const legend = await tab.locator(".legend li .quiet").allInnerTexts();
      const nodes = legend.reduce((all, words) => all + Number(words.replace(/,/g, "").match(/\d+/)[0]), 0);
      assert.equal(nodes, 500, `${pod}: ${legend}`);
    }
    assert.ok(compared >= 5, `only ${compared} causes were compared`);
  }));

test("the bays stand by zone and count the pods", () =>
  open(page, "#view=bays", async (tab) => {
    assert.equal(await tab.locator("#group").inputValue(), "topology.kubernetes.io/zone");
    const placed = dryRun.totals.placed;
    const evicted = dryRun.decisions.flatMap((of) => of.victims).length;
    const words = await tab.locator(".words").innerText();
    const on = 500 * 3 + 42 + placed - evicted;
    assert.equal(words, `500 nodes with ${count(on)} pods; ${count(dryRun.totals.pods - placed)} pods on the quay.`);
    await tab.getByLabel("Find").fill("train");
    assert.match(await tab.locator(".words").innerText(), / 4[12] nodes found\.$/);
    await tab.getByText("The nodes as a table").click();
    await tab.waitForSelector(".as-table table");
    assert.equal((await rows(tab, "Nodes with what is free")).length, Number((await tab.locator(".words").innerText()).match(/(\d+) nodes found/)[1]));
  }));

test("a pod that makes room for itself says whom it evicts", () =>
  open(page, `#view=why&pod=${name("ml/urgent-0")}`, async (tab) => {
    const decision = dryRun.decisions.find((of) => of.pod === "ml/urgent-0");
    assert.equal(decision.victims.length, 1);
    const text = await tab.locator(".why").innerText();
    assert.ok(text.includes(`It evicts ${decision.victims[0]}.`) && text.includes(decision.node), text);
  }));

test("before and after have every pod with another node", () =>
  open(page, "#view=change", async (tab) => {
    const found = await rows(tab, "Pods with another node");
    const placed = dryRun.decisions.filter((of) => of.node).map((of) => `${of.pod} quay ${of.node}`);
    const victims = dryRun.decisions.flatMap((of) => of.victims);
    assert.deepEqual(found.filter((row) => row[1] === "quay").map((row) => row.slice(0, 3).join(" ")), placed);
    assert.deepEqual(found.filter((row) => row[1] !== "quay").map((row) => row[0]), victims);
  }));

test("a gang that is not whole waits before nodes are evaluated", () =>
  open(page, `#view=quay&pod=${name("shop/lonely-0")}`, async (tab) => {
    assert.match(await tab.locator(".quay").innerText(), /not all members of the job exist/);
  }));

test("the values of a rule are those of explain --node", () =>
  open(page, `#view=rule&rule=teams&pod=${name("ml/team-0")}`, async (tab) => {
    const node = await tab.locator("#rule-node").inputValue();
    const { onNode } = JSON.parse(run(`explain ml/team-0 ${FLAGS} --node ${node} -o json`));
    const told = await tab.locator(".rule").innerText();
    for (const rule of onNode.policyRules.filter((of) => of.rule.startsWith("teams/"))) {
      for (const words of [rule.rule, rule.condition.text, ...rule.condition.parts.map((part) => part.value)]) {
        assert.ok(told.includes(words), words);
      }
    }
  }));

test("axe-core finds nothing in a large cluster", () =>
  open(page, "", async (tab) => {
    for (const view of ["bays", "quay", "matrix", "why", "rule", "change"]) {
      await tab.evaluate((hash) => (location.hash = hash), `#view=${view}&pod=${name(examples[0])}`);
      await tab.waitForSelector(`#tab-${view}[aria-current]`);
      await tab.evaluate(AXE);
      const { violations } = await tab.evaluate(() => window.axe.run());
      assert.deepEqual(violations.map((of) => `${view}: ${of.id} ${of.nodes.map((node) => node.target).join(" ")}`), []);
    }
  }));

test("the bays as a table add up, and say who fills a zone", () =>
  open(page, "#view=bays", async (tab) => {
    const found = await rows(tab, "The bays with what is free");
    assert.deepEqual(found.map((row) => row.slice(0, 2)), ["a", "b", "c", "d", "e"].map((zone) => [`zone-${zone}`, "100"]));
    const pods = found.reduce((sum, row) => sum + Number(row[2].replace(/,/g, "")), 0);
    assert.match(await tab.locator(".words").innerText(), new RegExp(`with ${count(pods)} pods`));
    const fillers = await tab.evaluate(() => [...document.querySelectorAll(".bays .plain")].map((of) => [...of.children].map((one) => one.textContent)));
    assert.equal(fillers.length, found.length);
    for (const [at, row] of found.entries()) {
      assert.match(fillers[at][0], /^cpu: /);
      assert.ok(fillers[at].some((words) => /^nvidia\.com\/gpu: (train|whale) \d+/.test(words)), fillers[at].join(" | "));
      const requested = fillers[at][0].slice(5).split(", ").reduce((sum, of) => sum + Number(of.split(" ").pop()), 0);
      const [free, all] = row[3].split(" of ").map(Number);
      assert.equal(all - free, requested, row.join(" | "));
    }
  }));
