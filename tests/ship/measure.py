#!/usr/bin/env python3
"""Measures what `make dist` and `make image` made: sizes, the time from the start of the process to the first bound pod on a
real API server, and memory when idle. Prints the table of docs/performance.md.

    tests/ship/measure.py [--dist dist] [--runs 10] [--nodes 100] [--idle 60]

Called by `make measure`; no test calls it, since times depend on the machine.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import tarfile
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from control_plane import ROOT, ControlPlane, Failed, free_port, stop, wait_until

VERSION = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.M).group(1)
OWN = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
MIB = 1 << 20


def mib(size):
    return f"{size / MIB:.1f} MiB"


def sizes(dist):
    """Rows about files: archives, the binaries in them, and images as a registry stores them."""
    rows = []
    for arch in ("amd64", "arm64"):
        archive = dist / f"bayplan-{VERSION}-linux-{arch}.tar.gz"
        if archive.exists():
            with tarfile.open(archive) as tar:
                binary = next(of.size for of in tar.getmembers() if of.name.endswith("/bayplan"))
            rows += [(f"archive, {arch}", mib(archive.stat().st_size)), (f"binary, {arch}", mib(binary))]
    image = dist / f"bayplan-{VERSION}-image.tar"
    if image.exists():
        with tarfile.open(image) as tar:
            blob = lambda of: json.load(tar.extractfile(f"blobs/sha256/{of['digest'].split(':')[1]}"))
            index = blob(json.load(tar.extractfile("index.json"))["manifests"][0])
            for of in index["manifests"]:
                pulled = sum(layer["size"] for layer in blob(of)["layers"])
                rows.append((f"image, {of['platform']['architecture']}, to pull", mib(pulled)))
    return rows


class Bound:
    """Watches pods, and remembers when each was first seen on a node."""

    def __init__(self, plane):
        request = urllib.request.Request(f"{plane.url}/api/v1/pods?watch=1")
        request.add_header("Authorization", f"Bearer {plane.tokens['admin']}")
        self.at = {}
        self.stream = urllib.request.urlopen(request, context=plane._tls())
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self):
        try:
            for line in self.stream:
                pod = json.loads(line)["object"]
                if pod["spec"].get("nodeName"):
                    self.at.setdefault(pod["metadata"]["name"], time.monotonic())
        except (OSError, ValueError):
            pass  # The server ended.


def start(plane, binary):
    """A scheduler with the default configuration; it places pods of `default-scheduler`."""
    return plane.spawn("bayplan", [
        binary, "run", "--kubeconfig", plane.kubeconfig, "--bind-address=127.0.0.1", f"--secure-port={free_port()}"])


def first_pod(plane, bound, binary, number):
    """Seconds from the start of a process to the binding that the API server shows of a pod that waited for it."""
    name = f"first-{number}"
    plane.create("/api/v1/namespaces/default/pods", {
        "metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "pause"}]}})
    began = time.monotonic()
    process = start(plane, binary)
    try:
        wait_until(f"{name} is bound", lambda: name in bound.at, timeout=60, pause=0.005)
    except Failed as failed:
        raise Failed(f"{failed}\n{plane.log('bayplan')}") from None
    finally:
        stop(process)
    plane.delete(f"/api/v1/namespaces/default/pods/{name}", grace=0)
    return bound.at[name] - began


def memory(plane, binary, idle):
    """Resident bytes of a leader after some seconds in which nothing happened: all, and without the pages of the file."""
    process = start(plane, binary)
    try:
        time.sleep(idle)
        if process.poll() is not None:
            raise Failed(plane.log("bayplan"))
        status = Path(f"/proc/{process.pid}/status").read_text()
        of = lambda name: int(re.search(rf"^{name}:\s+(\d+) kB$", status, re.M).group(1)) * 1024
        return of("VmRSS"), of("RssAnon")
    finally:
        stop(process)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--idle", type=int, default=60)
    args = parser.parse_args()
    archive = args.dist / f"bayplan-{VERSION}-linux-{OWN}.tar.gz"
    if not archive.exists():
        parser.error(f"{archive} does not exist: run `make dist` first")
    rows = sizes(args.dist)
    with tempfile.TemporaryDirectory(prefix="bayplan-measure-") as folder, ControlPlane() as plane:
        subprocess.run(["tar", "-xzf", archive, "-C", folder, "--strip-components=1"], check=True)
        binary = Path(folder) / "bayplan"
        for at in range(args.nodes):
            name = f"node-{at}"
            plane.create("/api/v1/nodes", {"metadata": {"name": name}})
            plane.raw("PATCH", f"/api/v1/nodes/{name}/status", {"status": {
                "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}]}}, "application/merge-patch+json")
        bound = Bound(plane)
        took = [first_pod(plane, bound, binary, at) for at in range(args.runs)]
        resident, anonymous = memory(plane, binary, args.idle)
    rows.append((
        f"start of the process to the first bound pod, {args.nodes} nodes",
        f"{statistics.median(took):.2f} s ({min(took):.2f} to {max(took):.2f} s)"))
    rows.append((f"memory of a leader after {args.idle} s without a change, {args.nodes} nodes", mib(resident)))
    rows.append(("of it without the pages of the binary", mib(anonymous)))
    print("| what | |\n|---|---:|")
    for name, value in rows:
        print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
