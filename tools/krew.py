#!/usr/bin/env python3
"""Writes dist/krew/bayplan.yaml, the manifest of the kubectl plugin for krew, of the archives that tools/dist.sh made.

    tools/krew.py --releases https://github.com/OWNER/bayplan/releases/download [--dist dist]
"""
import argparse
import hashlib
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
DESCRIPTION = """Explains why a pod waits or why it is on its node, which changes help (each was
tried), and what a change of scheduling policies would do. It reads the cluster
and writes nothing; `kubectl bayplan policies` switches policies off and on.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", required=True)
    parser.add_argument("--dist", type=pathlib.Path, default=ROOT / "dist")
    args = parser.parse_args()
    version = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.M).group(1)
    platforms = []
    for arch in ("amd64", "arm64"):
        name = f"bayplan-{version}-linux-{arch}"
        archive = args.dist / f"{name}.tar.gz"
        if archive.exists():
            platforms.append({
                "selector": {"matchLabels": {"os": "linux", "arch": arch}},
                "uri": f"{args.releases}/v{version}/{archive.name}",
                "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(), "bin": "bayplan",
                "files": [{"from": f"{name}/{file}", "to": "."} for file in ("bayplan", "LICENSE", "THIRD-PARTY.txt")]})
    if not platforms:
        sys.exit(f"krew: {args.dist} has no archive of version {version}: run `make dist` first")
    # JSON is YAML.
    manifest = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin", "metadata": {"name": "bayplan"},
        "spec": {"version": f"v{version}", "homepage": args.releases.rsplit("/releases", 1)[0],
                 "shortDescription": "Explain why pods wait", "description": DESCRIPTION, "platforms": platforms}}
    out = args.dist / "krew/bayplan.yaml"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(manifest, indent=2) + "\n")
    print(out)


if __name__ == "__main__":
    main()
