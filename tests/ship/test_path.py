"""The commands of docs/ways.md, in order, on a real API server, while pods are created all the time. Each pod is bound by
exactly one scheduler, and none is lost.

Only `/etc/kubernetes` is another folder here. BAYPLAN_CHART is another chart than deploy/chart.
"""
import base64
import collections
import json
import os
import re
import shutil
import subprocess
import threading
import time
import unittest
from pathlib import Path

import yaml

from control_plane import ROOT, ControlPlane, Failed, run, wait_until
from kubelet import Kubelet

PAGE = ROOT / "docs/ways.md"
KUBE, BAYPLAN = "system:kube-scheduler", "system:serviceaccount:bayplan:bayplan"
KUBE_SCHEDULER = """
apiVersion: v1
kind: Pod
metadata:
  name: kube-scheduler
  namespace: kube-system
  labels: {component: kube-scheduler, tier: control-plane}
spec:
  hostNetwork: true
  priorityClassName: system-node-critical
  containers:
  - name: kube-scheduler
    image: registry.k8s.io/kube-scheduler:v1.36.3
    command:
    - kube-scheduler
    - --config=/etc/kubernetes/scheduler/config.yaml
    - --authorization-always-allow-paths=/healthz,/livez,/readyz,/metrics
    - --bind-address=127.0.0.1
    - -v=2
    startupProbe:
      httpGet: {scheme: HTTPS, port: 10259, path: /livez}
    livenessProbe:
      httpGet: {scheme: HTTPS, port: 10259, path: /livez}
    readinessProbe:
      httpGet: {scheme: HTTPS, port: 10259, path: /readyz}
    volumeMounts:
    - {name: scheduler, mountPath: /etc/kubernetes/scheduler, readOnly: true}
  volumes:
  - name: scheduler
    hostPath: {path: /etc/kubernetes/scheduler, type: Directory}
"""
CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: /etc/kubernetes/scheduler/kubeconfig}
leaderElection: {leaderElect: true}
"""


def blocks(text):
    """The shell blocks of each section."""
    found = collections.OrderedDict()
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        found[section.split("\n", 1)[0]] = re.findall(r"^```sh\n(.*?)^```$", section, flags=re.M | re.S)
    return found


class Feeder:
    """Creates a pod every half second for each scheduler name, and deletes those that were bound some time ago, which
    leave the nodes room for the others."""

    def __init__(self, plane):
        self.plane, self.names, self.made, self.ended = plane, ["default-scheduler"], {}, threading.Event()
        self.thread = threading.Thread(target=self._feed, daemon=True)

    def bound(self):
        return {of["pod"] for of in self.plane.bindings() if of["code"] == 201}

    def _feed(self):
        number, rounds, deleted = 0, 0, set()
        while not self.ended.wait(0.5):
            rounds += 1
            if rounds % 30 == 0:
                bound, before = self.bound(), time.monotonic() - 20
                old = {pod for pod, (_, made) in self.made.items() if pod in bound and made < before}
                for pod in old - deleted:
                    self.plane.delete(f"/api/v1/namespaces/default/pods/{pod.split('/')[1]}", grace=0)
                deleted |= old
            for scheduler in list(self.names):
                number += 1
                pod = {"metadata": {"name": f"feed-{number}"}, "spec": {
                    "schedulerName": scheduler, "containers": [{"name": "c", "image": "pause"}]}}
                self.plane.create("/api/v1/namespaces/default/pods", pod)
                self.made[f"default/feed-{number}"] = (scheduler, time.monotonic())

    def all_bound(self, timeout=120):
        """Waits until the pods made so far were bound."""
        wanted = set(self.made)
        try:
            wait_until("the pods that were created are bound", lambda: not wanted - self.bound(), timeout)
        except Failed as failed:
            raise Failed(f"{failed}: {sorted(wanted - self.bound())}") from None

    def stop(self):
        self.ended.set()
        if self.thread.is_alive():
            self.thread.join()


class ThePath(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.binary = Path(os.environ["BAYPLAN_BINARY"])
        self.sections = blocks(PAGE.read_text())
        self.chart = os.environ.get("BAYPLAN_CHART", "deploy/chart")
        self.times = {}

    def sh(self, section):
        """Runs the commands of a section of the page."""
        for text in self.sections.pop(section):
            # Not in a configuration, which a pod reads.
            text = re.sub(r"(?m)^(?! *\w+File: )(.*)$", lambda line: line[1].replace(
                "/etc/kubernetes", str(self.kubelet.host / "etc/kubernetes")), text)
            text = text.replace("deploy/chart", self.chart)
            # A command of the page must not wait for ever.
            since = time.monotonic()
            process = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", text], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, env={**os.environ, **self.plane.env, "PATH": f"{self.tools}:{os.environ['PATH']}"},
                start_new_session=True)
            try:
                said, _ = process.communicate(timeout=300)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                self.fail(f"{text}\ntook longer than 300 s\n{process.communicate()[0]}\n{self.state()}")
            self.assertEqual(process.returncode, 0, f"{text}\n{said}\n{self.state()}")
            self.times[text.splitlines()[0][:60]] = time.monotonic() - since

    def state(self):
        logs = [f"{path.stem}:\n{self.plane.log(path.stem, 12)}" for path in self.plane.folder.glob("pod-*.log")]
        pods = self.plane.kubectl("get", "pods", "--all-namespaces", "--output", "wide", check=False).splitlines()
        pods = [line for line in pods if "feed-" not in line or "<none>" in line.split("feed-")[1][:70]]
        return "\n".join(["", *pods[-40:], *logs, *self.kubelet.problems[-5:]])

    def binders(self, since):
        """Who bound pods of the feeder after `since` Bindings."""
        new = self.plane.bindings()[since:]
        return {of["user"] for of in new if of["code"] == 201 and of["pod"].startswith("default/feed-")}

    def phase(self, expected):
        """From now on pods are bound by these users only, and all are."""
        self.feeder.all_bound()
        since = len(self.plane.bindings())
        time.sleep(3)
        self.feeder.all_bound()
        self.assertEqual(self.binders(since), set(expected), self.state())

    def test_path(self):
        tools = Path(run("tests/ship/tools.sh").strip())
        with ControlPlane() as self.plane:
            self.tools = self.plane.folder / "bin"
            self.tools.mkdir()
            for name, program in {"helm": tools / "helm", "kubectl": self.plane.kubectl_program,
                                  "bayplan": self.binary.resolve()}.items():
                (self.tools / name).symlink_to(program)
            images = {"bayplan": self.binary, "kube-scheduler": self.plane.assets / "kube-scheduler"}
            with Kubelet(self.plane, images) as self.kubelet:
                self.feeder = Feeder(self.plane)
                try:
                    self.walk()
                except Failed as failed:
                    raise Failed(f"{failed}\n{self.state()}") from None
                finally:
                    self.feeder.stop()
                    for command, took in self.times.items():
                        print(f"{took:6.1f} s  {command}")
                self.assertEqual(self.kubelet.problems, [])
                # The last pods may have been made a moment before.
                self.feeder.all_bound()
                self.every_pod_was_bound_once()

    def test_static_pod(self):
        """deploy/static-pods on a control plane without kube-scheduler, with its kubeconfig."""
        with ControlPlane() as self.plane, Kubelet(self.plane, {"bayplan": self.binary}) as self.kubelet:
            self.kubelet.node("node-0")
            kubernetes = self.kubelet.host / "etc/kubernetes"
            kubeconfig = self.plane.kubeconfig_of(KUBE, self.plane.tokens[KUBE]).read_text()
            data = base64.b64encode(self.plane.ca.read_bytes()).decode()
            config = json.loads(kubeconfig)
            config["clusters"][0]["cluster"] = {"server": self.plane.url, "certificate-authority-data": data}
            (kubernetes / "scheduler.conf").write_text(json.dumps(config))
            (kubernetes / "scheduler.conf").chmod(0o600)
            (kubernetes / "bayplan").mkdir()
            text = (ROOT / "deploy/instead/config.yaml").read_text()
            [of] = [of for of in yaml.safe_load_all(text) if of and of["kind"] == "ConfigMap"]
            (kubernetes / "bayplan/config.yaml").write_text(of["data"]["config.yaml"])
            self.plane.kubectl("apply", "--kustomize", "deploy/static-pods")
            shutil.copy(ROOT / "deploy/static-pods/bayplan.yaml", self.kubelet.manifests)
            pod = {"metadata": {"name": "first"}, "spec": {"containers": [{"name": "c", "image": "pause"}]}}
            self.plane.create("/api/v1/namespaces/default/pods", pod)
            try:
                wait_until("the pod is bound", lambda: [of for of in self.plane.bindings() if of["code"] == 201], timeout=300)
                wait_until("the static pod is ready", lambda: any(
                    of.ready for of in self.kubelet.container_of("kube-system", "bayplan")), timeout=120)
            except Failed as failed:
                raise Failed(f"{failed}\n{self.state()}") from None
            self.assertEqual({of["user"] for of in self.plane.bindings()}, {KUBE})
            lease = self.plane.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler")
            self.assertTrue(lease["spec"]["holderIdentity"].startswith("bayplan-control-plane"), lease)
            self.assertNotIn("forbidden", self.plane.log("pod-bayplan-control-plane", 1000))
            self.assertEqual(self.kubelet.problems, [])

    def walk(self):
        for number in range(4):
            self.kubelet.node(f"node-{number}", labels={"kubernetes.io/hostname": f"node-{number}"})
        folder = self.kubelet.host / "etc/kubernetes/scheduler"
        folder.mkdir()
        (folder / "config.yaml").write_text(CONFIG)
        kubeconfig = self.plane.kubeconfig_of(KUBE, self.plane.tokens[KUBE]).read_text()
        (folder / "kubeconfig").write_text(kubeconfig.replace(str(self.plane.ca), "/etc/kubernetes/scheduler/server.crt"))
        (folder / "server.crt").write_bytes(self.plane.ca.read_bytes())
        (self.kubelet.manifests / "kube-scheduler.yaml").write_text(KUBE_SCHEDULER)
        wait_until("kube-scheduler is ready", lambda: any(
            of.ready for of in self.kubelet.container_of("kube-system", "kube-scheduler")), timeout=120)
        self.feeder.thread.start()
        self.phase([KUBE])

        self.sh("Beside kube-scheduler")
        tests = [of for of in self.plane.bindings() if of["pod"].startswith("bayplan/") and "-test" in of["pod"]]
        self.assertEqual([of["user"] for of in tests], [BAYPLAN], "the Job of `helm test` ran, and Bayplan placed its pod")
        self.feeder.names.append("bayplan")
        self.phase([KUBE, BAYPLAN])
        self.feeder.names.remove("bayplan")
        self.feeder.all_bound()
        self.sh("A policy, and back")
        self.feeder.names.append("bayplan")
        self.phase([KUBE, BAYPLAN])

        self.sh("In place of kube-scheduler")
        self.phase([BAYPLAN])
        # No Bayplan renews the lease: the other one takes over, also for the pods of Bayplan.
        self.feeder.names.remove("bayplan")
        self.feeder.all_bound()
        self.plane.kubectl("scale", "deployment", "bayplan", "--namespace", "bayplan", "--replicas=0")
        wait_until("Bayplan has ended", lambda: not self.kubelet.container_of("bayplan", "bayplan"))
        self.phase([KUBE])
        self.plane.kubectl("scale", "deployment", "bayplan", "--namespace", "bayplan", "--replicas=2")
        self.plane.kubectl("rollout", "status", "deployment/bayplan", "--namespace", "bayplan", "--timeout=60s")
        self.phase([KUBE])
        own = [of for of in self.plane.bindings() if of["pod"].startswith("bayplan/bayplan-") and of["code"] == 201]
        self.assertEqual({of["user"] for of in own if "-test" not in of["pod"]}, {KUBE}, "Bayplan's pods never wait for it")

        self.sh("As an extender")
        self.feeder.names.append("bayplan")
        self.phase([KUBE])
        self.the_extender_decides()

        self.sh("Without Bayplan")
        self.phase([KUBE])
        self.what_stays()

    def the_extender_decides(self):
        """kube-scheduler places a database where the policy allows it."""
        self.plane.kubectl("label", "node", "node-0", "node-1", "node-2", "node-kind=spot")
        for number in range(6):
            pod = {"metadata": {"name": f"database-{number}", "labels": {"tier": "database"}},
                   "spec": {"containers": [{"name": "c", "image": "pause"}]}}
            self.plane.create("/api/v1/namespaces/team-a/pods", pod)
        path = "/api/v1/namespaces/team-a/pods?labelSelector=tier%3Ddatabase"
        nodes = lambda: [pod["spec"].get("nodeName") for pod in self.plane.get(path)["items"]]
        wait_until("databases are placed", lambda: all(nodes()))
        self.assertEqual(set(nodes()), {"node-3"})

    def what_stays(self):
        """After the release is gone."""
        left = []
        for line in self.plane.kubectl("api-resources", "--verbs=list", "--output=name").split():
            if line.startswith(("events", "pods", "nodes")):
                continue
            names = self.plane.kubectl("get", line, "--all-namespaces", "--ignore-not-found", "--output", "name").split()
            left += [name for name in names if "bayplan" in name or "keep-spot-free" in name]
        self.assertEqual(sorted(left), [
            "configmap/bayplan-configuration-bayplan", "configmap/bayplan-configuration-kube-scheduler",
            "configmap/bayplan-history-keep-spot-free", "configmap/bayplan-overrides", "configmap/keep-spot-free",
            "lease.coordination.k8s.io/bayplan", "namespace/bayplan", "namespace/bayplan-policies",
            "secret/bayplan-marks"])

    def every_pod_was_bound_once(self):
        bound, failed = collections.Counter(), []
        for of in self.plane.bindings():
            if of["code"] == 201:
                bound[of["pod"]] += 1
            else:
                failed.append(of)
        self.assertEqual(failed, [], "no two schedulers bound a pod, and none was refused")
        self.assertEqual({pod: count for pod, count in bound.items() if count != 1 and "/feed-" in pod}, {})
        lost = [pod for pod in self.feeder.made if not bound[pod]]
        self.assertEqual(lost, [])
        print(f"{len(self.feeder.made)} pods, each bound once")


if __name__ == "__main__":
    unittest.main(verbosity=2)
