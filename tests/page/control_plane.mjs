// A real etcd and kube-apiserver for the tests of `bayplan ui`, as the cluster tests have them (`tests/cluster/support`). The
// programs are those of `tests/control-plane/build.sh`, which the cluster tests build.
import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { createServer } from "node:net";
import { join } from "node:path";
import { ROOT, folder, start } from "./browser.mjs";

/** The folder of the programs; empty where this machine has none. */
export const PROGRAMS = programs();

function programs() {
  try {
    const path = execFileSync("tests/control-plane/build.sh", ["--cached"], { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
    return existsSync(join(path, "kube-apiserver")) && existsSync(join(path, "etcd")) ? path : "";
  } catch {
    return "";
  }
}

const freePort = () => new Promise((done) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => done(port));
  });
});

/** The rights of `bayplan-reader` in `deploy/rbac.yaml`, and of `bayplan-policy-reader`. */
const verbs = ["list", "watch"];
const READER = [
  { apiGroups: [""], resources: ["pods", "nodes", "namespaces", "services", "replicationcontrollers", "persistentvolumes", "persistentvolumeclaims"], verbs },
  { apiGroups: ["apps"], resources: ["replicasets", "statefulsets", "daemonsets"], verbs },
  { apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs },
  { apiGroups: ["storage.k8s.io"], resources: ["storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments"], verbs },
  { apiGroups: ["resource.k8s.io"], resources: ["deviceclasses", "resourceslices", "devicetaintrules", "resourceclaimtemplates", "resourceclaims"], verbs },
];
const POLICIES = [{ apiGroups: [""], resources: ["configmaps"], verbs }];

export class ControlPlane {
  static async start() {
    const plane = new ControlPlane();
    plane.home = mkdtempSync(join(folder, "control-plane-"));
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    plane.write("service-account.key", privateKey.export({ type: "pkcs8", format: "pem" }));
    plane.write("service-account.pub", publicKey.export({ type: "spki", format: "pem" }));
    plane.write("tokens.csv", 'admin-token,admin,admin,"system:masters"\nreader-token,reader,reader,""\n');
    plane.etcdPort = await freePort();
    const client = `http://127.0.0.1:${plane.etcdPort}`;
    start(join(PROGRAMS, "etcd"), ["--unsafe-no-fsync", `--data-dir=${join(plane.home, "etcd")}`, `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`, "--listen-peer-urls=http://127.0.0.1:0", "--log-level=error"], { stdio: "ignore" });
    plane.port = await freePort();
    await plane.serve();
    await plane.put("/api/v1/namespaces", { metadata: { name: "bayplan-policies" } });
    const group = "rbac.authorization.k8s.io";
    const bindings = [["clusterroles", "ClusterRole", READER, ""], ["roles", "Role", POLICIES, "/namespaces/bayplan-policies"]];
    for (const [plural, kind, rules, within] of bindings) {
      await plane.put(`/apis/${group}/v1${within}/${plural}`, { metadata: { name: "reader" }, rules });
      await plane.put(`/apis/${group}/v1${within}/${plural.slice(0, -1)}bindings`, {
        metadata: { name: "reader" }, roleRef: { apiGroup: group, kind, name: "reader" }, subjects: [{ apiGroup: group, kind: "User", name: "reader" }],
      });
    }
    return plane;
  }

  /** @param {string} name @param {string} text */
  write(name, text) {
    const path = join(this.home, name);
    writeFileSync(path, text);
    return path;
  }

  /** Starts the API server, also again: the port and the objects stay. */
  async serve() {
    const file = (name) => join(this.home, name);
    this.server = start(join(PROGRAMS, "kube-apiserver"), [
      `--etcd-servers=http://127.0.0.1:${this.etcdPort}`, `--secure-port=${this.port}`, "--bind-address=127.0.0.1",
      `--cert-dir=${file("certs")}`, "--service-account-issuer=https://bayplan.test",
      `--service-account-key-file=${file("service-account.pub")}`, `--service-account-signing-key-file=${file("service-account.key")}`,
      `--token-auth-file=${file("tokens.csv")}`, "--authorization-mode=RBAC",
      "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition", "--endpoint-reconciler-type=none",
      "--service-cluster-ip-range=10.0.0.0/24", "--allow-privileged=true", "--profiling=false",
    ], { stdio: "ignore" });
    for (let tries = 0; ; tries++) {
      try {
        await this.call("GET", "/readyz");
        await this.call("GET", "/api/v1/namespaces/default");
        return;
      } catch (error) {
        if (tries > 600 || this.server.exitCode !== null) throw error;
        await new Promise((done) => setTimeout(done, 200));
      }
    }
  }

  /** Kills the API server. */
  async stop() {
    const ended = new Promise((done) => this.server.once("exit", done));
    this.server.kill("SIGKILL");
    await ended;
  }

  /** A call of the administrator. @returns {Promise<any>} */
  call(method, path, body) {
    return new Promise((done, failed) => {
      const asked = request({
        host: "127.0.0.1", port: this.port, path, method, rejectUnauthorized: false,
        headers: { authorization: "Bearer admin-token", "content-type": "application/json" },
      }, (of) => {
        let text = "";
        of.on("data", (bytes) => (text += bytes));
        of.on("end", () => (of.statusCode < 300 ? done(text) : failed(new Error(`${method} ${path}: ${of.statusCode} ${text}`))));
      });
      asked.on("error", failed);
      asked.end(body ? JSON.stringify(body) : undefined);
    });
  }

  put(path, object) {
    return this.call("POST", path, object);
  }

  /** The kubeconfig of a user who may read. */
  reader() {
    const authority = readFileSync(join(this.home, "certs/apiserver.crt")).toString("base64");
    return this.write("reader.kubeconfig", JSON.stringify({
      apiVersion: "v1", kind: "Config", "current-context": "test",
      clusters: [{ name: "test", cluster: { server: `https://127.0.0.1:${this.port}`, "certificate-authority-data": authority } }],
      users: [{ name: "reader", user: { token: "reader-token" } }],
      contexts: [{ name: "test", context: { cluster: "test", user: "reader" } }],
    }));
  }

  /** How many watches of pods the API server holds. */
  async watchesOfPods() {
    const metrics = await this.call("GET", "/metrics");
    const lines = metrics.split("\n").filter((line) => line.startsWith("apiserver_longrunning_requests{"));
    const ofPods = lines.filter((line) => line.includes('resource="pods"') && line.includes('verb="WATCH"'));
    return ofPods.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }
}
