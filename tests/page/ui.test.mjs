// `bayplan ui` over files: who is answered, and what would be if policies and pods were others.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { AXE, ROOT, folder, rows, run, ui, visit } from "./browser.mjs";

const CLUSTER = "--cluster examples/first/cluster.yaml";
const FLAGS = `${CLUSTER} --policies examples/first`;
const { address, said } = await ui(FLAGS);
const { port, pathname: home } = new URL(address);
const policy = readFileSync(join(ROOT, "examples/first/gpu.bay"), "utf8");

/** The status and the headers of an answer. */
const answer = (path, { method = "GET", headers = {}, body = "" } = {}) => new Promise((done, failed) => {
  const asked = request({ host: "127.0.0.1", port, path, method, headers }, (of) => {
    let text = "";
    of.on("data", (bytes) => (text += bytes));
    of.on("end", () => done({ status: of.statusCode, headers: of.headers, text }));
  });
  asked.on("error", failed);
  asked.end(body);
});

const json = { "content-type": "application/json" };
const question = (...texts) => JSON.stringify({ texts });

test("the address has a secret of its own, on this host alone", async () => {
  assert.match(address, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/$/);
  for (let tries = 0; tries < 50 && !said(); tries++) await new Promise((done) => setTimeout(done, 20));
  assert.match(said(), /^Open this address/m);
  const other = await ui(FLAGS);
  assert.notEqual(new URL(other.address).pathname, home);
  other.program.kill("SIGINT");
  assert.equal(await new Promise((done) => other.program.once("exit", done)), 0);
});

test("who does not know the secret, or comes from elsewhere, is refused", async () => {
  const refused = [
    ["/", {}], ["/document", {}], [`${home.slice(0, -1)}`, {}], [`/${"0".repeat(32)}/`, {}], [`${home.slice(0, -2)}0/document`, {}],
    [home, { headers: { host: "evil.example" } }], [home, { headers: { host: `evil.example:${port}` } }],
    [home, { headers: { host: "127.0.0.1" } }], [home, { headers: { origin: "http://evil.example" } }],
    [`${home}document`, { headers: { origin: "null" } }],
    [`${home}what-if`, { method: "POST", headers: { ...json, origin: `http://127.0.0.1:${Number(port) + 1}` }, body: question() }],
  ];
  for (const [path, options] of refused) {
    const { status, text } = await answer(path, options);
    assert.equal(status, 403, `${path} ${JSON.stringify(options)}: ${text}`);
    assert.ok(!text.includes("gpu-1"));
  }
});

test("every answer forbids to keep it, to frame it, and to load anything", async () => {
  for (const [path, options, status] of [[home, {}, 200], ["/", {}, 403], [`${home}other`, {}, 404], [home, { method: "DELETE" }, 404],
    [`${home}what-if`, { method: "POST", headers: json, body: "{}" }, 200],
    [`${home}what-if`, { method: "POST", headers: { "content-type": "text/plain" }, body: question() }, 415],
    [`${home}what-if`, { method: "POST", headers: json, body: question({ name: "a.bay", text: "x".repeat(1 << 20) }) }, 413]]) {
    const { headers, ...got } = await answer(path, options);
    assert.equal(got.status, status, `${path} ${options.method}`);
    assert.equal(headers["cache-control"], "no-store");
    assert.equal(headers["referrer-policy"], "no-referrer");
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(headers["cross-origin-resource-policy"], "same-origin");
    assert.match(headers["content-security-policy"], /^default-src 'none';.*frame-ancestors 'none'/);
  }
});

test("the page shows what dry-run says, and asks its own server alone", () =>
  visit(address, "", async (page) => {
    const [summary] = run(`dry-run ${FLAGS}`).split("\n").filter((line) => /^\d+ pods?: /.test(line));
    assert.equal(await page.locator(".answer p").first().innerText(), summary);
    assert.equal(await page.locator("nav [aria-current]").innerText(), "Quay");
    assert.equal(await page.locator(".live").innerText(), "Live.");
  }));

/** Types a text into the page, and waits until it was decided. */
async function tries(page, name, text) {
  await page.locator("#tab-what-if").click();
  const asks = (of) => of.url().endsWith("/what-if") && JSON.parse(of.request().postData()).texts.some((one) => one.name === name && one.text === text);
  const answered = page.waitForResponse(asks);
  await page.locator("#text-name").fill(name);
  await page.locator("#text-area").fill(text);
  await answered;
  await page.waitForFunction(() => /With the change|mistakes|not tried/.test(document.querySelector(".result")?.textContent ?? ""));
}

test("a policy that is edited is decided as dry-run decides it, and what moves is shown", () =>
  visit(address, "", async (page) => {
    // Without the rule that avoids a node, a pod more is placed, or placed elsewhere.
    const changed = policy.replace(/ {2}filter not-avoided \{[\s\S]*?\n {2}\}\n/, "");
    assert.notEqual(changed, policy);
    const path = join(folder, "changed.bay");
    writeFileSync(path, changed);
    await page.locator("#tab-rule").click();
    await page.getByRole("button", { name: "Try a change" }).click();
    assert.match(await page.locator("#text-area").inputValue(), /policy gpu-placement/);
    await tries(page, "gpu-placement.bay", changed);
    const dryRun = JSON.parse(run(`dry-run ${CLUSTER} --policies ${path} -o json`));
    const [summary] = run(`dry-run ${CLUSTER} --policies ${path}`).split("\n").filter((line) => /^\d+ pods?: /.test(line));
    assert.equal(await page.locator(".answer p").first().innerText(), summary);
    const before = JSON.parse(run(`dry-run ${FLAGS} -o json`));
    const node = (of, pod) => of.decisions.find((one) => one.pod === pod)?.node || null;
    const moves = dryRun.decisions.filter((of) => node(before, of.pod) !== (of.node || null))
      .map((of) => [of.pod, node(before, of.pod) ?? "quay", of.node || "waits"]);
    assert.ok(moves.length > 0);
    const found = await rows(page, "Pods with another node");
    assert.deepEqual(found.map((row) => row.slice(0, 3)), moves);
    assert.match(await page.locator(".status").innerText(), /What if: gpu-placement\.bay\./);
    await page.getByRole("button", { name: "See it before and after" }).click();
    assert.deepEqual((await rows(page, "Pods with another node")).map((row) => row.slice(0, 3)), moves);
    await page.getByRole("button", { name: "Show the cluster as it is" }).first().click();
    await page.waitForFunction(() => !document.querySelector(".status").textContent.includes("What if"));
    assert.notEqual(await page.locator(".answer p").first().innerText(), summary);
  }));

test("mistakes are at their places, as lint says them", () =>
  visit(address, "#view=what-if", async (page) => {
    const text = "/// Über 🚢 hinaus.\npolicy broken {\n  filter far {\n    reject \"too far\" when node.lables[\"zone\"] == \"a\"\n  }\n}\n";
    const path = join(folder, "broken.bay");
    writeFileSync(path, text);
    let told = "";
    try { run(`lint ${path} --format json`); } catch (error) { told = error.stdout; }
    const { diagnostics } = JSON.parse(told);
    assert.ok(diagnostics.length > 0);
    await tries(page, "broken.bay", text);
    assert.match(await page.locator(".result").innerText(), /a text has mistakes/);
    const found = await page.locator(".diagnostics li").allInnerTexts();
    assert.equal(found.length, diagnostics.length);
    for (const [at, of] of diagnostics.entries()) {
      assert.ok(found[at].startsWith(`broken.bay:${of.start.line}:${of.start.column} ${of.severity}[${of.code}] ${of.message}`), found[at]);
    }
    const [first] = diagnostics;
    const line = [...text.split("\n")[first.start.line - 1]];
    const marked = line.slice(first.start.column - 1, first.end.column - 1).join("");
    assert.equal(await page.locator("mark").first().innerText(), marked);
    await page.locator(".diagnostics button").first().click();
    assert.equal(await page.evaluate(() => {
      const area = document.querySelector("#text-area");
      return area.value.slice(area.selectionStart, area.selectionEnd);
    }), marked);
    // The cluster stays in sight.
    assert.doesNotMatch(await page.locator(".status").innerText(), /What if/);
  }));

test("a pod that is dropped onto the page is placed, or says why it waits", () =>
  visit(address, "#view=bays", async (page) => {
    const pod = `apiVersion: v1\nkind: Pod\nmetadata: {name: dropped}\nspec:\n  containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]\n`;
    const transfer = await page.evaluateHandle((pod) => {
      const data = new DataTransfer();
      data.items.add(new File([pod], "pod.yaml"));
      return data;
    }, pod);
    await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
    await page.waitForFunction(() => /With the change/.test(document.querySelector(".result")?.textContent ?? ""));
    const [row] = (await rows(page, "Pods with another node")).filter(([name]) => name === "default/dropped");
    const path = join(folder, "dropped.yaml");
    writeFileSync(path, pod);
    const { decisions } = JSON.parse(run(`dry-run ${FLAGS} --pods ${path} -o json`));
    assert.deepEqual(row.slice(0, 3), ["default/dropped", "new", decisions.find((of) => of.pod === "default/dropped").node]);
    // In place of the pod of its name.
    await tries(page, "pod.yaml", pod.replace("dropped", "train-c"));
    assert.equal((await rows(page, "Pods with another node")).filter(([name]) => name === "default/train-c").length, 1);
  }));

test("the text is edited by keyboard, and a screen reader finds its way", () =>
  visit(address, "#view=what-if", async (page) => {
    await page.evaluate(AXE);
    for (const text of ["", "policy p {"]) {
      if (text) await tries(page, "p.bay", text);
      const { violations } = await page.evaluate(() => window.axe.run());
      assert.deepEqual(violations.map((of) => `${of.id}: ${of.nodes[0].html}`), []);
    }
  }));

test("names that are markup are text in what is tried", () =>
  visit(address, "#view=what-if", async (page) => {
    const markup = `"><img src=x onerror=alert(1)></textarea><script>alert(1)</script>`;
    await tries(page, `${markup}.bay`, `policy p { filter ${markup} }`);
    assert.equal(await page.evaluate(() => document.querySelectorAll("img, script:not([type=module])").length), 0);
    assert.ok((await page.locator(".diagnostics").innerText()).includes("<img src=x"));
  }));

test("a question that is none is answered in words", async () => {
  for (const [body, words] of [["", "no question"], ["{}", "no texts"], [question(...Array(33).fill({ name: "a", text: "" })), "too many"],
    [question({ name: "a" }), "no name"]]) {
    const { status, text } = await answer(`${home}what-if`, { method: "POST", headers: json, body });
    assert.equal(status, 200);
    assert.ok(JSON.parse(text).problem.includes(words), text);
  }
});

test("mistakes in the files are said before there is an address", async () => {
  const path = join(folder, "wrong.bay");
  writeFileSync(path, "policy wrong {");
  await assert.rejects(ui(`${CLUSTER} --policies ${path}`), /wrong\.bay/);
  await assert.rejects(ui("--cluster -"), /save what stdin brings/);
  await assert.rejects(ui(`${FLAGS} --port ${port}`), /choose another `--port`/);
});

test("a tab that lost the server says for how long, and comes back", () =>
  visit(address, "#view=bays", async (page, context) => {
    await context.setOffline(true);
    await page.waitForFunction(() => /has not answered for/.test(document.querySelector(".live").textContent), null, { timeout: 40000 });
    assert.match(await page.locator(".live").innerText(), /What is shown is of \d\d:\d\d:\d\d UTC/);
    await context.setOffline(false);
    await page.waitForFunction(() => document.querySelector(".live").textContent === "Live.");
  }, { loud: true }));
