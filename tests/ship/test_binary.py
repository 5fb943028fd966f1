"""The program alone in its root folder, as in the image: it resolves a name by DNS and makes a TLS connection to it."""
import json
import os
import shutil
import socket
import struct
import threading
from pathlib import Path

import pytest

from chart import BINARY
from control_plane import run
from kubelet import unpack

# One that the certificate of the API server has.
NAME = "kubernetes.default.svc"
DNS = "127.0.5.3"


def answer(question):
    """The answer to a DNS question: the address 127.0.0.1 of NAME; names have no IPv6 address, and others none at all."""
    identity, end = question[:2], question.index(b"\0", 12) + 5
    labels = b"".join(bytes([len(part)]) + part.encode() for part in NAME.split(".")) + b"\0"
    known = question[12:end - 4].lower() == labels
    kind, = struct.unpack("!H", question[end - 4:end - 2])
    has = known and kind == 1
    flags = 0x8180 if known else 0x8183
    head = identity + struct.pack("!HHHHH", flags, 1, int(has), 0, 0)
    record = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + socket.inet_aton("127.0.0.1")
    return head + question[12:end] + (record if has else b"")


@pytest.fixture
def names():
    """A DNS server; the names that it was asked for."""
    seen = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((DNS, 53))

        def serve():
            while True:
                try:
                    question, client = server.recvfrom(512)
                    if not question:
                        return
                    seen.append(question)
                    server.sendto(answer(question), client)
                except OSError:
                    return
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield seen
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", (DNS, 53))
        thread.join(5)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes its root folder and serves DNS")
def test_a_name_is_resolved_and_its_certificate_checked(plane, names, tmp_path):
    root = unpack(Path(BINARY), "bayplan", tmp_path / "root")
    (root / "etc/resolv.conf").write_text(f"nameserver {DNS}\noptions timeout:2 attempts:2\n")
    shutil.copy(plane.ca, root / "ca.crt")

    def ask(host):
        config = json.loads(plane.kubeconfig.read_text())
        config["clusters"][0]["cluster"] = {"server": f"https://{host}:{plane.port}", "certificate-authority": "/ca.crt"}
        (root / "kubeconfig").write_text(json.dumps(config))
        return run("chroot", root, "/bayplan", "policies", "--kubeconfig", "/kubeconfig", check=False)
    plane.kubectl("create", "namespace", "bayplan-policies", check=False)
    policy = "policy resolved {\n  filter f { require node.name != \"x\" else \"no\" }\n}\n"
    plane.kubectl("create", "configmap", "resolved", "--namespace", "bayplan-policies", f"--from-literal=a.bay={policy}")
    plane.kubectl("label", "configmap", "resolved", "--namespace", "bayplan-policies", "bayplan.dev/policy=")
    try:
        assert "resolved" in ask(NAME)
        assert names, "the name was resolved without DNS"
        assert "resolved" not in ask("unknown.example.com")
    finally:
        plane.kubectl("delete", "configmap", "resolved", "--namespace", "bayplan-policies")
