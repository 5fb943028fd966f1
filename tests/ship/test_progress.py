"""Long work on a terminal: a line says where it is, sentences are not mixed with it, and interrupted it says how far it came."""
import os
import pty
import re
import select
import signal
import subprocess
import time

import pytest

from chart import BINARY

POLICY = """/// Keeps its pods off hot nodes.
policy p{at} {{
  applies when pod.labels["case"] == "{at}"
  filter heat {{ reject "hot" when node.labels["heat"] == "hot" }}
}}
"""
CASE = """policies: [../policies/p{at}.bay]
nodes: [{{metadata: {{name: n}}}}]
cases:
- name: it fits
  pod: {{metadata: {{name: p}}}}
  expect: {{node: n}}
"""
LONG = 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("progress")
    (folder / "policies").mkdir()
    (folder / "tests").mkdir()
    for at in range(6000):
        (folder / f"policies/p{at}.bay").write_text(POLICY.format(at=at))
    for at in range(600):
        (folder / f"tests/t{at}.test.yaml").write_text(CASE.format(at=at))
    # The last one is broken: a sentence on stderr between two states of the line.
    (folder / "tests/a-broken.test.yaml").write_text("policies: [absent.bay]\n")
    objects = ["{apiVersion: v1, kind: Node, metadata: {name: n%d}, status: {allocatable: {cpu: 64, memory: 64Gi, pods: 9999}}}" % at
               for at in range(300)]
    objects += ["{apiVersion: v1, kind: Pod, metadata: {name: p%d}, spec: {containers: [{name: c}]}}" % at for at in range(20000)]
    (folder / "cluster.yaml").write_text("\n---\n".join(objects))
    return folder


COMMANDS = {
    "lint": ["lint", "policies"],
    "test": ["test", "tests"],
    "dry-run": ["dry-run", "--cluster", "cluster.yaml"],
}


def started(folder, arguments, stderr):
    return subprocess.Popen([BINARY, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=stderr, env={"PATH": os.environ["PATH"], "TERM": "xterm"})


def on_a_terminal(folder, arguments, until):
    """What stderr shows, up to `until`, then after SIGINT; and how the process ended."""
    master, slave = pty.openpty()
    process = started(folder, arguments, slave)
    os.close(slave)
    seen, interrupted, end = "", False, time.monotonic() + LONG
    while time.monotonic() < end:
        if not select.select([master], [], [], 0.1)[0]:
            continue
        try:
            seen += os.read(master, 65536).decode()
        except OSError:
            break  # the process has closed the terminal
        if not interrupted and re.search(until, seen):
            interrupted = True
            process.send_signal(signal.SIGINT)
    os.close(master)
    assert interrupted, seen
    return seen, process.wait(LONG)


@pytest.mark.parametrize("command, until, says", [
    ("lint", r"checking policies, [\d,]+ of 6,000 …", r"checking policies, [\d,]+ of 6,000"),
    ("test", r"running test files, [\d,]+ of 601 …", r"running test files, [\d,]+ of 601"),
    ("dry-run", r"reading the cluster and the policies …", r"reading the cluster and the policies"),
    ("dry-run", r"placing the pending pods, [\d,]+ of 20,000 …", r"placing the pending pods, [\d,]+ of 20,000"),
])
def test_the_line_shows_where_the_work_is_and_an_interruption_how_far_it_came(folder, command, until, says):
    seen, status = on_a_terminal(folder, COMMANDS[command], until)
    assert status == -signal.SIGINT
    assert re.search(rf"\r\x1b\[Kerror: interrupted while {says}\r\n$", seen), seen[-300:]


def test_sentences_begin_on_an_empty_line(folder):
    seen, _ = on_a_terminal(folder, COMMANDS["test"], r"running test files, [1-9]\d* of 601 …")
    assert "absent.bay" in seen
    for line in seen.split("\r\n"):
        shown = line.rsplit("\r\x1b[K", 1)[-1]
        assert not ("running test files" in shown and "absent.bay" in shown), line


@pytest.mark.parametrize("flags", [[], ["--quiet"]])
def test_a_pipe_gets_no_line_and_an_interruption_says_how_far_it_came(folder, flags):
    process = started(folder, [*COMMANDS["dry-run"], *flags], subprocess.PIPE)
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=LONG)[1].decode()
    assert process.returncode == -signal.SIGINT
    assert re.fullmatch(r"error: interrupted while [a-z ]+(, [\d,]+ of [\d,]+)?\n", said), said


def test_quiet_commands_show_no_line(folder):
    master, slave = pty.openpty()
    process = started(folder, [*COMMANDS["dry-run"], "--quiet"], slave)
    os.close(slave)
    time.sleep(2.5)
    process.kill()
    process.wait(LONG)
    ready = select.select([master], [], [], 0)[0]
    seen = b""
    if ready:
        try:
            seen = os.read(master, 65536)
        except OSError:
            pass
    os.close(master)
    assert seen == b""
