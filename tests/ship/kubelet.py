"""Plays the kubelets of all nodes, kube-proxy, and the controllers of Deployments and Jobs on a `ControlPlane`.

A bound pod whose image it has runs as a process: in a folder of its own as root folder (`chroot`), with its volumes as
files, a token of its service account, the user of its `securityContext`, and its probes. Every other bound pod is
Running at once. A pod's address is one of the loopback network; arguments that name all addresses get this one, as pods
share the network of the machine.
"""
import contextlib
import hashlib
import http.client
import json
import os
import random
import shutil
import socket
import ssl
import subprocess
import threading
import time
import traceback
from base64 import b64decode
from pathlib import Path

import yaml

from control_plane import Failed, run, stop

ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount"
PAUSE = 0.3


def libraries_of(program):
    """The shared libraries of a program that is not static."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True)
    words = [word for line in done.stdout.splitlines() for word in line.split()]
    return [Path(word) for word in words if word.startswith("/")] if done.returncode == 0 else []


def unpack(program, name, folder):
    """An image with a program and nothing else that it does not need: its root folder."""
    (folder / "etc").mkdir(parents=True, exist_ok=True)
    target = folder / name
    shutil.copy(program, target)
    subprocess.run(["strip", target], capture_output=True)
    target.chmod(0o755)
    for library in libraries_of(program):
        place = folder / str(library).lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library.resolve(), place)
    return folder


class Container:
    """A pod's only container, as a process."""

    def __init__(self, kubelet, pod, address):
        self.kubelet, self.pod, self.address = kubelet, pod, address
        meta, self.spec = pod["metadata"], pod["spec"]["containers"][0]
        self.namespace, self.name = meta["namespace"], meta["name"]
        self.root = kubelet.plane.folder / "pods" / meta["uid"]
        self.log = f"pod-{self.name}"
        self.process, self.restarts, self.ready, self.born = None, 0, False, time.monotonic()
        self.failures = 0
        shutil.copytree(kubelet.images[self.image], self.root, copy_function=os.link, symlinks=True)
        self.mounted = {}

    @property
    def image(self):
        return self.spec["image"].rsplit("/", 1)[-1].split("@")[0].split(":")[0]

    def mount(self):
        """Writes the volumes that are new or have changed. Raises if an object that is mounted does not exist."""
        volumes = {volume["name"]: volume for volume in self.pod["spec"].get("volumes", [])}
        for mount in self.spec.get("volumeMounts", []):
            volume, place = volumes[mount["name"]], self.root / mount["mountPath"].lstrip("/")
            if "hostPath" in volume:
                source = self.kubelet.host / volume["hostPath"]["path"].lstrip("/")
                if not place.exists() and source.exists():
                    place.parent.mkdir(parents=True, exist_ok=True)
                    (shutil.copytree if source.is_dir() else shutil.copy)(source, place)
                continue
            if "emptyDir" in volume:
                place.mkdir(parents=True, exist_ok=True)
                place.chmod(0o777)
                continue
            files = self.kubelet.files_of(self.namespace, volume)
            if self.mounted.get(place) == files:
                continue
            self.mounted[place] = files
            # As a kubelet does it, so that all files change at once: ..data is a link to a folder.
            place.mkdir(parents=True, exist_ok=True)
            data = place / f"..{time.time_ns()}"
            data.mkdir()
            for key, content in files.items():
                (data / key).write_bytes(content)
                if not (place / key).is_symlink():
                    (place / key).symlink_to(f"..data/{key}")
            (place / "..new").symlink_to(data.name)
            os.replace(place / "..new", place / "..data")
        account = self.pod["spec"].get("serviceAccountName")
        if account and not (self.root / ACCOUNT).exists():
            folder = self.root / ACCOUNT
            folder.mkdir(parents=True)
            (folder / "token").write_text(self.kubelet.plane.token_of(self.namespace, account))
            (folder / "namespace").write_text(self.namespace)
            shutil.copy(self.kubelet.plane.ca, folder / "ca.crt")

    def command(self):
        words = self.spec.get("command", [f"/{self.image}"]) + self.spec.get("args", [])
        words[0] = f"/{Path(words[0]).name}"
        own = [word.replace("0.0.0.0", self.address) for word in words]
        if not any(word.startswith(("--bind-address", "--listen")) for word in own) and own[1:2] != ["policies"]:
            own.append(f"--bind-address={self.address}")
        own = [f"--bind-address={self.address}" if word.startswith("--bind-address=127.") else word for word in own]
        security = {**self.pod["spec"].get("securityContext", {}), **self.spec.get("securityContext", {})}
        user = security.get("runAsUser", 0)
        return [shutil.which("chroot"), f"--userspec={user}:{security.get('runAsGroup', user)}", self.root, *own]

    def start(self):
        env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.kubelet.plane.port),
               "HOSTNAME": self.name}
        self.process = self.kubelet.plane.spawn(self.log, self.command(), env=env)

    def asks(self, probe):
        """Whether a probe succeeds."""
        asked = self.spec.get(probe, {}).get("httpGet")
        if not asked:
            return True
        ports = {port.get("name"): port["containerPort"] for port in self.spec.get("ports", [])}
        port = ports.get(asked["port"], asked["port"])
        plain = asked.get("scheme", "HTTP") == "HTTP"
        try:
            connection = (http.client.HTTPConnection(self.address, port, timeout=5) if plain else
                          http.client.HTTPSConnection(self.address, port, timeout=5, context=ssl._create_unverified_context()))
            with contextlib.closing(connection):
                connection.request("GET", asked.get("path", "/"))
                return 200 <= connection.getresponse().status < 400
        except OSError:
            return False

    def look(self):
        """Restarts what ended or is not alive, and asks whether it is ready."""
        if self.process is None:
            self.start()
            return
        if self.process.poll() is not None:
            if self.pod["spec"].get("restartPolicy", "Always") == "Always":
                self.restarts += 1
                self.start()
            self.ready = False
            return
        alive = self.asks("livenessProbe")
        self.failures = 0 if alive else self.failures + 1
        # A startup probe of 30 s, then three failures.
        if self.failures > (3 / PAUSE if self.ready else 30 / PAUSE):
            stop(self.process)
        self.ready = alive and self.asks("readinessProbe")


class Proxy:
    """A port of a Service: each connection goes to a pod that is ready."""

    def __init__(self, address, port, target):
        self.target = target
        self.listener = socket.create_server((address, port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.target())
            except (OSError, IndexError):
                client.close()
                continue
            for pair in ((client, server), (server, client)):
                threading.Thread(target=self._copy, args=pair, daemon=True).start()

    @staticmethod
    def _copy(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.close()


class Kubelet:
    """Use it in a `with` statement, inside that of the control plane."""

    def __init__(self, plane, images):
        self.plane, self.host = plane, plane.folder / "host"
        self.images = {name: unpack(program, name, plane.folder / "images" / name) for name, program in images.items()}
        self.manifests = self.host / "etc/kubernetes/manifests"
        self.manifests.mkdir(parents=True)
        # Two harnesses on one machine have other addresses.
        self.network = f"127.{random.randrange(10, 250)}.{random.randrange(250)}"
        self.containers, self.addresses, self.proxies = {}, 0, {}
        self.ended, self.problems = threading.Event(), []
        self.thread = threading.Thread(target=self._loop, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join(30)
        for proxy in self.proxies.values():
            proxy.close()
        for container in self.containers.values():
            if container.process:
                stop(container.process, grace=3)

    def node(self, name, cpu="8", memory="16Gi", labels=None):
        room = {"cpu": cpu, "memory": memory, "pods": "110"}
        self.plane.create("/api/v1/nodes", {"metadata": {"name": name, "labels": labels or {}}})
        condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
        self.plane.patch(f"/api/v1/nodes/{name}/status", {
            "status": {"capacity": room, "allocatable": room, "conditions": [condition]}})

    def container_of(self, namespace, prefix):
        """The containers that run now whose pods' names begin with the prefix."""
        found = [of for of in list(self.containers.values()) if of.namespace == namespace and of.name.startswith(prefix)]
        return [of for of in found if of.process and of.process.poll() is None]

    def files_of(self, namespace, volume):
        if "configMap" in volume:
            kind, name = "configmaps", volume["configMap"]["name"]
        else:
            kind, name = "secrets", volume["secret"]["secretName"]
        found = self.plane.get(f"/api/v1/namespaces/{namespace}/{kind}/{name}").get("data") or {}
        return {key: (b64decode(value) if kind == "secrets" else value.encode()) for key, value in found.items()}

    def _loop(self):
        while not self.ended.wait(PAUSE):
            pods = self.plane.get("/api/v1/pods")["items"]
            for part in (self._static, self._services, lambda: self._deployments(pods), lambda: self._jobs(pods)):
                self._do(part)
            for pod in pods:
                self._do(lambda: self._pod(pod))
            for uid in set(self.containers) - {pod["metadata"]["uid"] for pod in pods}:
                stop(self.containers.pop(uid).process, grace=3)

    def _do(self, part):
        try:
            part()
        except Failed as failed:
            # Another client has changed the object.
            if getattr(failed, "code", None) not in (404, 409):
                self.problems.append(str(failed))
        except Exception:
            self.problems.append(traceback.format_exc())

    def _services(self):
        wanted = {}
        for service in self.plane.get("/api/v1/services")["items"]:
            selector = service["spec"].get("selector")
            for port in service["spec"].get("ports", []) if selector else []:
                key = (service["spec"]["clusterIP"], port["port"])
                wanted[key] = (service["metadata"]["namespace"], selector, port["targetPort"])
        for key in set(self.proxies) - set(wanted):
            self.proxies.pop(key).close()
        for key in set(wanted) - set(self.proxies):
            self.proxies[key] = Proxy(*key, lambda of=wanted[key]: self._endpoint(*of))

    def _endpoint(self, namespace, selector, port):
        """Address and port of a pod that is ready."""
        for of in list(self.containers.values()):
            labels = of.pod["metadata"].get("labels", {})
            if of.namespace == namespace and of.ready and selector.items() <= labels.items():
                return of.address, {it.get("name"): it["containerPort"] for it in of.spec["ports"]}.get(port, port)
        raise OSError("no pod is ready")

    def _static(self):
        """Pods of manifests in the folder of the host, with mirrors in the API."""
        mirrors = {}
        for file in self.manifests.glob("*.yaml"):
            try:
                text = file.read_text()
            except FileNotFoundError:
                continue  # It was just moved away.
            pod = yaml.safe_load(text)
            pod["metadata"]["name"] += "-control-plane"
            annotations = pod["metadata"].setdefault("annotations", {})
            annotations["kubernetes.io/config.mirror"] = hashlib.sha256(text.encode()).hexdigest()
            pod["spec"]["nodeName"] = "control-plane"
            mirrors[pod["metadata"]["name"]] = pod
        for pod in self.plane.get("/api/v1/namespaces/kube-system/pods")["items"]:
            mark = pod["metadata"].get("annotations", {}).get("kubernetes.io/config.mirror")
            wanted = mirrors.pop(pod["metadata"]["name"], None)
            same = wanted and wanted["metadata"]["annotations"]["kubernetes.io/config.mirror"] == mark
            if mark and not same and "deletionTimestamp" not in pod["metadata"]:
                self.plane.delete(f"/api/v1/namespaces/kube-system/pods/{pod['metadata']['name']}")
        for pod in mirrors.values():
            self.plane.create("/api/v1/namespaces/kube-system/pods", pod)

    def _pod(self, pod):
        meta, spec, status = pod["metadata"], pod["spec"], pod["status"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        container = self.containers.get(meta["uid"])
        if "deletionTimestamp" in meta:
            if container:
                stop(container.process, grace=spec.get("terminationGracePeriodSeconds", 30))
                self.containers.pop(meta["uid"])
            self.plane.delete(path, grace=0)
            return
        if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
            return
        image = spec["containers"][0]["image"].rsplit("/", 1)[-1].split("@")[0].split(":")[0]
        if image not in self.images:
            self._report(path, status, "Running", True, "127.0.2.1")
            return
        if container is None:
            self.addresses += 1
            container = self.containers[meta["uid"]] = Container(self, pod, f"{self.network}.{self.addresses}")
        try:
            container.mount()
        except Failed:
            return  # The pod waits for what it mounts.
        container.look()
        code = container.process.poll()
        if code is not None and spec.get("restartPolicy") == "Never":
            self._report(path, status, "Succeeded" if code == 0 else "Failed", False, container.address)
        else:
            self._report(path, status, "Running", container.ready, container.address)

    def _report(self, path, status, phase, ready, address):
        now = {of["type"]: of["status"] for of in status.get("conditions", [])}
        if status.get("phase") == phase and now.get("Ready") == str(ready) and status.get("podIP") == address:
            return
        others = [of for of in status.get("conditions", []) if of["type"] != "Ready"]
        self.plane.patch(f"{path}/status", {"status": {
            "phase": phase, "podIP": address, "podIPs": [{"ip": address}], "hostIP": "127.0.0.1",
            "conditions": [*others, {"type": "Ready", "status": str(ready)}]}})

    def _owned(self, pods, owner):
        return [pod for pod in pods
                if any(of["uid"] == owner["metadata"]["uid"] for of in pod["metadata"].get("ownerReferences", []))]

    def _create_pod(self, owner, kind, name, template, labels):
        meta = owner["metadata"]
        own = {**template.get("metadata", {}), "name": name}
        own["labels"] = {**own.get("labels", {}), **labels}
        own["ownerReferences"] = [{
            "apiVersion": owner["apiVersion"], "kind": kind, "name": meta["name"], "uid": meta["uid"], "controller": True}]
        self.plane.create(f"/api/v1/namespaces/{meta['namespace']}/pods", {"metadata": own, "spec": template["spec"]})

    def _deployments(self, pods):
        found = self.plane.get("/apis/apps/v1/deployments")["items"]
        alive = {of["metadata"]["uid"] for of in found}
        for pod in pods:
            for owner in pod["metadata"].get("ownerReferences", []):
                if owner["kind"] == "Deployment" and owner["uid"] not in alive and "deletionTimestamp" not in pod["metadata"]:
                    self.plane.delete(f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}")
        for deployment in found:
            deployment["apiVersion"] = "apps/v1"
            self._deployment(deployment, self._owned(pods, deployment))

    def _deployment(self, deployment, pods):
        meta, spec = deployment["metadata"], deployment["spec"]
        if "deletionTimestamp" in meta:
            return
        template = json.dumps(spec["template"], sort_keys=True)
        version = hashlib.sha256(template.encode()).hexdigest()[:8]
        pods = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        new = [pod for pod in pods if pod["metadata"]["labels"].get("pod-template-hash") == version]
        old = [pod for pod in pods if pod not in new]
        is_ready = lambda pod: any(of["type"] == "Ready" and of["status"] == "True" for of in pod["status"].get("conditions", []))
        recreate = spec.get("strategy", {}).get("type") == "Recreate"
        ready = sum(map(is_ready, new))
        surplus = old if recreate else old[:max(0, len(old) - (spec["replicas"] - ready))]
        for pod in surplus + new[spec["replicas"]:]:
            self.plane.delete(f"/api/v1/namespaces/{meta['namespace']}/pods/{pod['metadata']['name']}")
        if not (recreate and old):
            for _ in range(spec["replicas"] - len(new)):
                self._create_pod(deployment, "Deployment", f"{meta['name']}-{version}-{os.urandom(3).hex()}",
                                 json.loads(template), {"pod-template-hash": version})
        done = len(new) == spec["replicas"] == ready and not old
        status = {
            "observedGeneration": meta["generation"], "replicas": len(pods), "updatedReplicas": len(new),
            "readyReplicas": sum(map(is_ready, pods)), "availableReplicas": sum(map(is_ready, pods)),
            "conditions": [
                {"type": "Available", "status": str(ready > 0), "reason": "Played", "message": ""},
                {"type": "Progressing", "status": "True", "message": "",
                 "reason": "NewReplicaSetAvailable" if done else "ReplicaSetUpdated"}]}
        before = deployment.get("status", {})
        if any(before.get(key, 0) != value for key, value in status.items() if key != "conditions") or \
                [of.get("reason") for of in before.get("conditions", [])] != [of["reason"] for of in status["conditions"]]:
            self.plane.patch(f"/apis/apps/v1/namespaces/{meta['namespace']}/deployments/{meta['name']}/status", {"status": status})

    def _jobs(self, pods):
        for job in self.plane.get("/apis/batch/v1/jobs")["items"]:
            job["apiVersion"] = "batch/v1"
            meta, status = job["metadata"], job.get("status", {})
            if "deletionTimestamp" in meta or status.get("completionTime") or status.get("failed"):
                continue
            own = self._owned(pods, job)
            path = f"/apis/batch/v1/namespaces/{meta['namespace']}/jobs/{meta['name']}/status"
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            if not own:
                self._create_pod(job, "Job", f"{meta['name']}-{os.urandom(3).hex()}", job["spec"]["template"], {})
                self.plane.patch(path, {"status": {"startTime": now, "active": 1}})
            phases = {pod["status"].get("phase") for pod in own}
            condition = lambda kind: {"type": kind, "status": "True", "reason": "Played", "message": "",
                                      "lastProbeTime": now, "lastTransitionTime": now}
            if "Succeeded" in phases:
                self.plane.patch(path, {"status": {
                    "active": 0, "succeeded": 1, "completionTime": now,
                    "conditions": [condition("SuccessCriteriaMet"), condition("Complete")]}})
            elif "Failed" in phases:
                self.plane.patch(path, {"status": {
                    "active": 0, "failed": 1, "conditions": [condition("FailureTarget"), condition("Failed")]}})
