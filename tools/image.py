#!/usr/bin/env python3
"""Makes an image from what tools/dist.sh made: the binary, certificates of public authorities, and nothing else.

    tools/image.py [--dist dist] [--authorities /etc/ssl/certs/ca-certificates.crt]

writes dist/bayplan-VERSION-image.tar, an OCI archive for all architectures of which dist has an archive. No program is
needed that makes images, and equal inputs give equal bytes. To a registry:

    skopeo copy --all oci-archive:dist/bayplan-0.1.0-image.tar docker://registry.example.com/bayplan:0.1.0

Containerfile makes the same image where a registry has images of the compiler. Called by `make image`.
"""
import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
# As in Containerfile, which a test compares.
USER, PORT = "65532:65532", "10259/tcp"
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"


class Layout:
    """The files of an OCI layout."""

    def __init__(self):
        self.files = {"oci-layout": json.dumps({"imageLayoutVersion": "1.0.0"}).encode()}

    def add(self, content, kind):
        """Adds a blob; its descriptor."""
        digest = hashlib.sha256(content).hexdigest()
        self.files[f"blobs/sha256/{digest}"] = content
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    def add_json(self, value, kind):
        return self.add(json.dumps(value, sort_keys=True).encode(), kind)


def packed(files, when):
    """A tar archive of files: path, mode and content; folders come before what is in them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        folders = set()
        for path, mode, content in sorted(files):
            for folder in reversed(pathlib.PurePosixPath(path).parents[:-1]):
                if folder not in folders:
                    folders.add(folder)
                    entry = tarfile.TarInfo(f"{folder}/")
                    entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, 0o755, when
                    archive.addfile(entry)
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode, entry.mtime = len(content), mode, when
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def add_image(layout, archive, arch, authorities, labels, when):
    """Adds the image of one architecture; its descriptor."""
    with tarfile.open(archive) as tar:
        file = lambda name: tar.extractfile(next(of for of in tar.getmembers() if of.name.count("/") == 1 and of.name.endswith(f"/{name}"))).read()
        binary, licence, third = file("bayplan"), file("LICENSE"), file("THIRD-PARTY.txt")
    if binary[:4] != b"\x7fELF":
        sys.exit(f"image: {archive} has no Linux binary")
    layer = packed([
        ("bayplan", 0o755, binary), (CERTIFICATES, 0o644, authorities),
        ("licenses/LICENSE", 0o644, licence), ("licenses/THIRD-PARTY.txt", 0o644, third)], when)
    config = {
        "architecture": arch, "os": "linux",
        "config": {"User": USER, "ExposedPorts": {PORT: {}}, "Entrypoint": ["/bayplan"], "Cmd": ["run"], "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        "history": [{"created_by": "tools/image.py"}]}
    manifest = {
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": layout.add_json(config, "config.v1+json"),
        "layers": [layout.add(gzip.compress(layer, 9, mtime=0), "layer.v1.tar+gzip")], "annotations": labels}
    return {**layout.add_json(manifest, "manifest.v1+json"), "platform": {"architecture": arch, "os": "linux"}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dist", type=pathlib.Path, default=ROOT / "dist")
    parser.add_argument("--authorities", type=pathlib.Path, default=pathlib.Path("/") / CERTIFICATES)
    args = parser.parse_args()
    version = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.M).group(1)
    archives = {arch: args.dist / f"bayplan-{version}-linux-{arch}.tar.gz" for arch in ("amd64", "arm64")}
    archives = {arch: path for arch, path in archives.items() if path.exists()}
    if not archives:
        sys.exit(f"image: {args.dist} has no archive of version {version}: run `make dist` first")
    if not args.authorities.exists():
        sys.exit(f"image: {args.authorities} does not exist: install ca-certificates, or name a file with --authorities")
    git = lambda *words: subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True).stdout.strip()
    when = int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct") or 0)
    labels = {
        "org.opencontainers.image.title": "bayplan", "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.revision": git("rev-parse", "HEAD"),
        "org.opencontainers.image.description": "A Kubernetes scheduler whose rules you write, test, preview and explain"}
    layout = Layout()
    images = [add_image(layout, path, arch, args.authorities.read_bytes(), labels, when) for arch, path in archives.items()]
    index = layout.add_json({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": images}, "index.v1+json")
    layout.files["index.json"] = json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{**index, "annotations": {"org.opencontainers.image.ref.name": version}}]}).encode()
    out = args.dist / f"bayplan-{version}-image.tar"
    out.write_bytes(packed([(path, 0o644, content) for path, content in layout.files.items()], when))
    print(f"{out}: {out.stat().st_size} bytes, {', '.join(archives)}, {index['digest']}")


if __name__ == "__main__":
    main()
