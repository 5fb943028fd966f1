// A cluster of 500 nodes: six causes of waiting, gangs, evictions, volumes and two policies.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { cluster, folder } from "./browser.mjs";

const ZONES = ["a", "b", "c", "d", "e"];

const node = (at) => {
  const gpus = at % 4 === 0 ? 8 : 0;
  const name = `${gpus ? "gpu" : "cpu"}-${ZONES[at % 5]}-${String(at).padStart(3, "0")}`;
  const labels = {
    "kubernetes.io/hostname": name, "topology.kubernetes.io/zone": `zone-${ZONES[at % 5]}`, team: ["vision", "shop", "search"][at % 3],
  };
  const amounts = { cpu: "16", memory: "64Gi", pods: "110", ...(gpus ? { "nvidia.com/gpu": String(gpus) } : {}) };
  const taints = at % 10 === 3 ? [{ key: "dedicated", value: "batch", effect: "NoSchedule" }] : [];
  return {
    apiVersion: "v1", kind: "Node", metadata: { name, labels }, spec: { taints },
    status: { allocatable: amounts, capacity: amounts, conditions: [{ type: "Ready", status: "True" }] },
  };
};

const pod = (name, requests, { namespace = "shop", spec = {}, labels = {}, annotations = {}, owner } = {}) => ({
  apiVersion: "v1", kind: "Pod",
  metadata: {
    name, namespace, labels: { app: name.replace(/-\d+$/, ""), ...labels }, annotations, creationTimestamp: "2026-11-01T08:00:00Z",
    ...(owner ? { ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: owner, uid: owner, controller: true }] } : {}),
  },
  spec: { containers: [{ name: "main", image: "registry.example/app:1", resources: { requests, limits: requests["nvidia.com/gpu"] ? { "nvidia.com/gpu": requests["nvidia.com/gpu"] } : {} } }], ...spec },
});

/** Every node has pods; GPU nodes of the team vision are full. */
function running(nodes) {
  return nodes.flatMap((of, at) => {
    const on = { spec: { nodeName: of.metadata.name } };
    const pods = [0, 1, 2].map((which) =>
      pod(`web-${at}-${which}`, { cpu: "2", memory: "4Gi" }, { ...on, labels: { app: ["web", "cart", "search"][which] }, owner: `web-${which}` }));
    if (of.status.allocatable["nvidia.com/gpu"] && at % 3 === 0) {
      pods.push(pod(`train-${at}`, { cpu: "4", memory: "16Gi", "nvidia.com/gpu": "8" }, { ...on, namespace: "ml" }));
    }
    return pods;
  });
}

const many = (count, name, requests, more) => Array.from({ length: count }, (_, at) => pod(`${name}-${at}`, requests, more));

const pending = [
  ...many(22, "whale", { cpu: "4", memory: "8Gi", "nvidia.com/gpu": "16" }),
  ...many(10, "team", { cpu: "2", memory: "4Gi", "nvidia.com/gpu": "4" }, { namespace: "ml", labels: { team: "audio" } }),
  ...many(7, "picky", { cpu: "1" }, { spec: { nodeSelector: { disk: "nvme" } } }),
  ...many(5, "data", { cpu: "1" }, { spec: { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "missing" } }] } }),
  ...many(4, "huge", { cpu: "60", memory: "8Gi" }),
  ...many(3, "batch", { cpu: "14", memory: "8Gi" }, { spec: { nodeSelector: { "topology.kubernetes.io/zone": "zone-d" }, tolerations: [] } }),
  // A gang of which one member is missing, and one that is whole.
  ...many(2, "lonely", { cpu: "1" }, { labels: { job: "lonely" }, annotations: { "job-size": "3" } }),
  ...many(3, "whole", { cpu: "1" }, { labels: { job: "whole" }, annotations: { "job-size": "3" } }),
  // It makes room for itself.
  pod("urgent-0", { cpu: "2", "nvidia.com/gpu": "8" }, { namespace: "ml", labels: { team: "vision" }, spec: { priority: 1000 } }),
  ...many(30, "small", { cpu: "1", memory: "1Gi" }),
];

/** The flags that choose the cluster and its policies. */
export function world() {
  const nodes = Array.from({ length: 500 }, (_, at) => node(at));
  const policies = join(folder, "rules.bay");
  writeFileSync(policies, `/// GPU pods stay on the nodes of their team.
policy teams {
  applies when pod.requests["nvidia.com/gpu"] > 0 && has(pod.labels["team"])
  filter same-team {
    reject "node(s) belong to another team" when node.labels["team"] != pod.labels["team"]
  }
  score fullest weight 2 {
    give percent(node.requested["nvidia.com/gpu"] + pod.requests["nvidia.com/gpu"], node.allocatable["nvidia.com/gpu"])
  }
}
`);
  return `--cluster ${cluster([...nodes, ...running(nodes), ...pending])} --policies ${policies} --policies examples/gang/gang.bay`;
}
