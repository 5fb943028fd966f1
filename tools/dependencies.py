#!/usr/bin/env python3
"""Writes the licences and the list of the crates that a binary is made of, from Cargo.lock.

    tools/dependencies.py --target x86_64-unknown-linux-musl --licences THIRD-PARTY.txt --sbom sbom.cdx.json

The list is CycloneDX 1.5. Called by tools/dist.sh.
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys


def crates(target):
    """The packages of the binary and of what builds it, without those of tests, by name and version."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    root = next(id for id, package in packages.items() if package["name"] == "bayplan")
    seen, open_ = {root}, [root]
    while open_:
        for edge in nodes[open_.pop()]["deps"]:
            kinds = {kind["kind"] for kind in edge["dep_kinds"]}
            if kinds != {"dev"} and edge["pkg"] not in seen:
                seen.add(edge["pkg"])
                open_.append(edge["pkg"])
    chosen = sorted((packages[id] for id in seen), key=lambda of: (of["name"], of["version"]))
    edges = {id: sorted(dep for dep in nodes[id]["dependencies"] if dep in seen) for id in seen}
    return packages[root], chosen, edges


def texts(package):
    """The licence files of a package."""
    folder = pathlib.Path(package["manifest_path"]).parent
    names = ("license", "licence", "copying", "notice", "unlicense")
    return [path for path in sorted(folder.iterdir()) if path.is_file() and path.name.lower().startswith(names)]


def licences(packages, path):
    """A section for each package: name, licence, and its files; equal texts are written once."""
    known = {}
    with open(path, "w") as out:
        out.write("Bayplan contains these packages, which others wrote.\n")
        for package in packages:
            if package["source"] is None:
                continue
            licence = package["license"] or f"see {package['license_file']}"
            out.write(f"\n{'=' * 80}\n{package['name']} {package['version']}: {licence}\n{package['repository'] or ''}\n")
            for file in texts(package):
                text = file.read_text(errors="replace").strip()
                if text in known:
                    out.write(f"\n{file.name}: as of {known[text]}\n")
                else:
                    known[text] = f"{package['name']} {package['version']}"
                    out.write(f"\n{file.name}\n{'-' * len(file.name)}\n{text}\n")


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def sbom(root, packages, edges, path):
    by_id = {package["id"]: package for package in packages}
    component = lambda package, kind: {
        "type": kind, "bom-ref": reference(package), "name": package["name"], "version": package["version"],
        "purl": reference(package),
        **({"licenses": [{"expression": package["license"].replace("/", " OR ")}]} if package["license"] else {})}
    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": component(root, "application")},
        "components": [component(package, "library") for package in packages if package is not root],
        "dependencies": [
            {"ref": reference(by_id[id]), "dependsOn": sorted({reference(by_id[dep]) for dep in deps})}
            for id, deps in sorted(edges.items(), key=lambda edge: reference(by_id[edge[0]]))]}
    pathlib.Path(path).write_text(json.dumps(document, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", required=True)
    parser.add_argument("--licences", required=True)
    parser.add_argument("--sbom", required=True)
    args = parser.parse_args()
    root, packages, edges = crates(args.target)
    without = [package["name"] for package in packages if package["source"] and not (package["license"] or package["license_file"])]
    if without:
        sys.exit(f"dependencies: no licence is known of {', '.join(without)}")
    licences(packages, args.licences)
    sbom(root, packages, edges, args.sbom)


if __name__ == "__main__":
    main()
