// Measures the page of 5,000 nodes with 100,000 pods (BAYPLAN_NODES, BAYPLAN_PODS), and what-if of `bayplan ui` at 1,000 nodes with
// 20,000 pods beside a dry run; prints figures and never fails.
// `make bench-page` runs it; a browser that shares its cores with others is slower.
import { statSync } from "node:fs";
import { cluster, file, open, run, ui } from "./browser.mjs";

const NODES = Number(process.env.BAYPLAN_NODES ?? 5000);
const PODS = Number(process.env.BAYPLAN_PODS ?? 20 * NODES);
const ZONES = ["a", "b", "c"];

/** Letters that look like those of names: the same in every run. */
let state = 1;
const letters = (length) => Array.from({ length }, () => {
  state = (state * 48271) % 2147483647;
  return "bcdfghjklmnpqrstvwxz2456789"[state % 27];
}).join("");

/** Pods have names that no other has. */
const suffixes = new Set();
const suffix = () => {
  const drawn = letters(5);
  return suffixes.has(drawn) ? suffix() : suffixes.add(drawn) && drawn;
};

const amounts = { cpu: "64", memory: "256Gi", pods: "110" };
const nodes = (number) => Array.from({ length: number }, (_, at) => {
  const name = `ip-10-${at >> 16}-${(at >> 8) & 255}-${at & 255}.example.internal`;
  const labels = { "kubernetes.io/hostname": name, "topology.kubernetes.io/zone": ZONES[at % 3], "node.kubernetes.io/instance-type": `m${at % 7}.16xlarge` };
  return { apiVersion: "v1", kind: "Node", metadata: { name, labels }, status: { allocatable: amounts, capacity: amounts, conditions: [{ type: "Ready", status: "True" }] } };
});
const apps = Array.from({ length: 1500 }, (_, at) => ({
  name: `app-${at}`, hash: letters(10), requests: { cpu: `${[100, 250, 500, 1000, 2000][at % 5]}m`, memory: `${[256, 512, 1024, 2048, 4096][at % 5]}Mi` },
}));
const pod = (name, namespace, app, requests, spec) => ({
  apiVersion: "v1", kind: "Pod", metadata: { name, namespace, labels: { app } },
  spec: { containers: [{ name: "main", image: "registry.example/app:1", resources: { requests } }], ...spec },
});
const running = (number, on) => Array.from({ length: number }, (_, at) => {
  const app = apps[(at * 7919) % apps.length];
  return pod(`${app.name}-${app.hash}-${suffix()}`, `team-${at % 120}`, app.name, app.requests, { nodeName: on[at % on.length].metadata.name });
});
const waiting = Array.from({ length: 300 }, (_, at) => {
  const spec = at % 3 === 0 ? { nodeSelector: { disk: "nvme" } } : {};
  return pod(`wait-${at}`, "quay", "wait", { cpu: at % 3 === 1 ? "100" : "1", memory: at % 3 === 2 ? "1Ti" : "1Gi" }, spec);
});

const whole = (nodeCount, podCount) => {
  const all = nodes(nodeCount);
  return cluster([...all, ...running(podCount, all), ...waiting]);
};

/** What a policy would change, decided on the cluster that a tab shows, beside a dry run of the same files. */
async function whatIf(nodeCount, podCount) {
  const path = whole(nodeCount, podCount);
  const { address } = await ui(`--cluster ${path}`);
  const policy = 'policy spare {\n  filter no-zone-a {\n    reject "node(s) in zone a" when node.labels["topology.kubernetes.io/zone"] == "a"\n  }\n}\n';
  const timed = async (act) => {
    const began = performance.now();
    await act();
    return ((performance.now() - began) / 1000).toFixed(2);
  };
  const first = await timed(async () => (await fetch(`${address}document?after=0`)).arrayBuffer());
  const body = JSON.stringify({ texts: [{ name: "spare.bay", text: policy }] });
  const ask = async () => (await fetch(`${address}what-if`, { method: "POST", headers: { "content-type": "application/json" }, body })).arrayBuffer();
  const answers = [await timed(ask), await timed(ask), await timed(ask)];
  const dryRun = await timed(() => run(`dry-run --cluster ${path}`));
  console.log(`${nodeCount} nodes, ${podCount} pods, ${waiting.length} waiting: what-if ${answers.join(", ")} s (target: below 1); the first document ${first} s; dry-run with reading its file ${dryRun} s`);
}

await whatIf(1000, 20000);
const path = file(run(`dry-run --cluster ${whole(NODES, PODS)} -o html`));
console.log(`${NODES} nodes, ${PODS} pods: ${(statSync(path).size / 1e6).toFixed(2)} MB (target: below 6)`);
for (const view of ["bays", "quay"]) {
  const began = performance.now();
  await open(path, `#view=${view}`, async (page) => {
    if (view === "bays") await page.waitForFunction(() => window.bayplan.bays.bays.whole);
    console.log(`first picture of the ${view}: ${((performance.now() - began) / 1000).toFixed(2)} s (target: below 2)`);
    if (view !== "bays") return;
    for (const [name, zoom] of [["all nodes in sight", 1], ["four times as near", 4], ["names can be read", 3]]) {
      const frames = await page.evaluate(async (zoom) => {
        const { bays } = window.bayplan.bays;
        if (zoom > 1) bays.zoom(zoom);
        await new Promise((done) => setTimeout(done, 500));
        let [frames, worst, last] = [0, 0, performance.now()];
        for (const end = last + 3000; last < end; frames++) {
          bays.pan(7, 3);
          await new Promise(requestAnimationFrame);
          const now = performance.now();
          [worst, last] = [Math.max(worst, now - last), now];
        }
        return `${(frames / 3).toFixed(0)} frames a second, the longest ${worst.toFixed(0)} ms`;
      }, zoom);
      console.log(`panning, ${name}: ${frames} (target: 30)`);
    }
    const used = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
    console.log(`heap of the page: ${(used / 1e6).toFixed(0)} MB`);
  });
}
process.exit(0);
