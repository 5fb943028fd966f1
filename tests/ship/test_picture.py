"""The picture of `explain` in the README is what the command prints."""
import os
import xml.etree.ElementTree as tree

from chart import BINARY
from control_plane import ROOT, run

PICTURE = ROOT / "docs/pictures/explain.svg"
WORDS = ["explain", "train-c", "--cluster", "examples/first/cluster.yaml", "--policies", "examples/first"]


def test_the_picture_is_what_explain_prints():
    made = run("tools/picture.py", " ".join(["bayplan", *WORDS]), BINARY, "--color", "always", *WORDS)
    tree.fromstring(made)
    if os.environ.get("BAYPLAN_GOLDEN") == "write":
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(made)
    assert PICTURE.read_text() == made, "`make golden-ship` writes it"
    assert "](docs/pictures/explain.svg)" in (ROOT / "README.md").read_text()
