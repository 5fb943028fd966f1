// `bayplan ui` on a real API server, as a user who may only read: what happens there is on the page within a second, and a
// connection that is lost comes back.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folder, rows, run, ui, visit } from "./browser.mjs";
import { ControlPlane, PROGRAMS } from "./control_plane.mjs";

const skip = PROGRAMS ? false : "this machine has no kube-apiserver and etcd: `make control-plane` builds them";
const plane = PROGRAMS ? await ControlPlane.start() : null;
const amounts = { cpu: "4", memory: "8Gi", pods: "110" };
const pods = "/api/v1/namespaces/default/pods";
const pod = (name, spec = {}) => ({
  apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" },
  spec: { containers: [{ name: "c", image: "registry.example/app:1", resources: { requests: { cpu: "1" } } }], ...spec },
});
const bind = (name, node) => plane.put(`${pods}/${name}/binding`, {
  apiVersion: "v1", kind: "Binding", metadata: { name }, target: { apiVersion: "v1", kind: "Node", name: node },
});
/** Waits until the page has a pod in this state on this node. */
const sees = (page, name, place, options = {}) => page.waitForFunction(([name, place]) => {
  const { plan } = window.bayplan ?? {};
  const row = plan?.podRow(`default/${name}`) ?? -1;
  return row >= 0 && `${plan.state(row)} ${plan.of.nodes.name[plan.of.pods.node[row]] ?? "-"}`.startsWith(place);
}, [name, place], { polling: 20, ...options });

let [server, before] = [null, 0];
if (plane) {
  for (const [at, zone] of ["a", "b"].entries()) {
    await plane.put("/api/v1/nodes", {
      apiVersion: "v1", kind: "Node", metadata: { name: `node-${at + 1}`, labels: { "topology.kubernetes.io/zone": zone } },
      status: { allocatable: amounts, capacity: amounts, conditions: [{ type: "Ready", status: "True" }] },
    });
  }
  for (const name of ["first", "second", "third"]) await plane.put(pods, pod(name));
  await plane.put(pods, pod("large", { containers: [{ name: "c", image: "i", resources: { requests: { cpu: "40" } } }] }));
  await plane.put("/api/v1/namespaces/bayplan-policies/configmaps", {
    apiVersion: "v1", kind: "ConfigMap", metadata: { name: "zones", labels: { "bayplan.dev/policy": "" } },
    data: { "zones.bay": 'policy zones {\n  filter only-a {\n    reject "node(s) in zone b" when node.labels["topology.kubernetes.io/zone"] == "b"\n  }\n}\n' },
  });
  before = await plane.watchesOfPods();
  server = await ui(`--kubeconfig ${plane.reader()}`);
}
const flags = () => `--kubeconfig ${plane.reader()}`;
const summaryOf = (text) => text.split("\n").find((line) => /^\d+ pods?: /.test(line));

test("the page says what dry-run says of the same cluster", { skip }, () =>
  visit(server.address, "", async (page) => {
    assert.equal(await page.locator(".answer p").first().innerText(), summaryOf(run(`dry-run ${flags()}`)));
    assert.deepEqual((await page.locator(".containers .name").allInnerTexts()), []);
    const { causes } = JSON.parse(run(`explain ${flags()} -o json`));
    assert.deepEqual((await rows(page, "Pods that wait")).map((row) => row[2]).filter(Boolean), causes.map((of) => of.cause));
  }));

test("a pod that is bound is on the page within a second", { skip }, () =>
  visit(server.address, "#view=bays", async (page) => {
    await page.waitForFunction(() => window.bayplan);
    const took = [];
    for (const name of ["first", "second", "third"]) {
      // A second without news: the page does not wait for its next turn.
      await page.waitForTimeout(1500);
      const began = performance.now();
      await bind(name, "node-2");
      await sees(page, name, "running node-2");
      took.push(performance.now() - began);
    }
    assert.ok(Math.min(...took) < 1000, `${took.map(Math.round)} ms`);
    await page.locator("details.as-table summary").click();
    await page.waitForSelector("details.as-table table");
    const table = await rows(page, "Nodes with what is free");
    assert.deepEqual(table.map((row) => row.slice(0, 3)), [["node-1", "0", "4"], ["node-2", "3", "1"]]);
  }));

test("many tabs share one watch", { skip }, () =>
  visit(server.address, "", async (page, context) => {
    const second = await context.newPage();
    await second.goto(server.address);
    await second.waitForSelector("nav button");
    assert.equal(await plane.watchesOfPods(), before + 1);
    await plane.put(pods, pod("for-both"));
    for (const tab of [page, second]) {
      await sees(tab, "for-both", "placed node-1");
    }
    await second.close();
  }));

test("a policy that is applied and deleted decides and ceases to", { skip }, () =>
  visit(server.address, "#view=rule", async (page) => {
    await page.waitForFunction(() => /zones/.test(document.querySelector("main").textContent));
    const { data, metadata } = JSON.parse(await plane.call("GET", "/api/v1/namespaces/bayplan-policies/configmaps/zones"));
    await plane.call("PUT", "/api/v1/namespaces/bayplan-policies/configmaps/zones", {
      apiVersion: "v1", kind: "ConfigMap", metadata, data: { "zones.bay": data["zones.bay"].replaceAll('"b"', '"a"').replace("only-a", "only-b") },
    });
    await page.waitForFunction(() => /only-b/.test(document.querySelector("main").textContent));
    await sees(page, "for-both", "placed node-2");
  }));

test("what if: the numbers are those of dry-run on the same cluster, and nothing is written", { skip }, () =>
  visit(server.address, "#view=what-if", async (page) => {
    const text = 'policy zones {\n  filter none {\n    reject "no node is good enough" when node.requested.cpu < 100cpu\n  }\n}\n';
    const path = join(folder, "zones.bay");
    writeFileSync(path, text);
    await page.waitForFunction(() => window.bayplan);
    const was = await plane.call("GET", "/api/v1/pods");
    await page.locator("#text-name").fill("zones.bay");
    await page.locator("#text-area").fill(text);
    await page.waitForFunction(() => /With the change|mistakes|not tried/.test(document.querySelector(".result").textContent));
    assert.match(await page.locator(".result").innerText(), /With the change/);
    assert.equal(await page.locator(".answer p").first().innerText(), summaryOf(run(`dry-run ${flags()} --policies ${path}`)));
    assert.deepEqual((await rows(page, "Pods with another node")).map((row) => row.slice(0, 3)), [["default/for-both", "node-2", "waits"]]);
    const of = (text) => JSON.parse(text).items.map((one) => [one.metadata.name, one.metadata.resourceVersion]);
    assert.deepEqual(of(await plane.call("GET", "/api/v1/pods")), of(was));
    // What is tried stays in sight while the cluster changes, and the page says so.
    await plane.put(pods, pod("later"));
    await page.waitForFunction(() => /has changed since/.test(document.querySelector(".status").textContent));
    await page.getByRole("button", { name: "try again" }).click();
    await sees(page, "later", "waits -");
  }));

test("a connection to the API server that is lost shows its age, and comes back by itself", { skip }, () =>
  visit(server.address, "#view=bays", async (page) => {
    await page.waitForFunction(() => document.querySelector(".live")?.textContent === "Live.");
    await plane.stop();
    await page.waitForFunction(() => /^The cluster cannot be followed for \d+ s: /.test(document.querySelector(".live").textContent));
    const shown = await page.locator(".live").innerText();
    assert.match(shown, /What is shown is of \d\d:\d\d:\d\d UTC/);
    await page.waitForFunction((shown) => document.querySelector(".live").textContent !== shown, shown);
    await plane.serve();
    await plane.put(pods, pod("after"));
    await page.waitForFunction(() => document.querySelector(".live").textContent === "Live.", null, { timeout: 60000 });
    await sees(page, "after", "", { timeout: 60000 });
  }));

test("SIGINT ends it in order", { skip }, async () => {
  const ended = new Promise((done) => server.program.once("exit", (status) => done(status)));
  server.program.kill("SIGINT");
  assert.equal(await ended, 0);
});
