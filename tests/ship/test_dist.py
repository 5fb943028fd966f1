"""What tools/dist.sh and tools/image.py make, here of a binary that exists: archives, lists of dependencies, checksums, the
image, signatures; and that Containerfile says the same of the image.
"""
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

from control_plane import ROOT, run

VERSION = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.M).group(1)
NAME = f"bayplan-{VERSION}-linux-amd64"


class Dist(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="bayplan-dist-"))
        # The script writes into the folder `dist` of its checkout.
        checkout = cls.folder / "checkout"
        checkout.mkdir()
        for entry in ROOT.iterdir():
            if entry.name not in ("dist", "target"):
                (checkout / entry.name).symlink_to(entry)
        (checkout / "tools").unlink()
        shutil.copytree(ROOT / "tools", checkout / "tools")
        binary = cls.folder / "bayplan"
        shutil.copy(os.environ["BAYPLAN_BINARY"], binary)
        subprocess.run(["strip", binary], check=True)
        cls.env = {"BAYPLAN_BINARY_amd64": str(binary), "SOURCE_DATE_EPOCH": "1700000000"}
        cls.dist, cls.checkout = checkout / "dist", checkout
        run("tools/dist.sh", "amd64", env=cls.env, cwd=checkout)
        run("tools/image.py", env=cls.env, cwd=checkout)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_the_archive(self):
        with tarfile.open(self.dist / f"{NAME}.tar.gz") as archive:
            names = {of.name.split("/", 1)[1] for of in archive.getmembers() if "/" in of.name}
            self.assertEqual({of.mtime for of in archive.getmembers()}, {1700000000})
            self.assertEqual({(of.uid, of.gid) for of in archive.getmembers()}, {(0, 0)})
            third = archive.extractfile(f"{NAME}/THIRD-PARTY.txt").read().decode()
        pages = {name for name in names if name.startswith("man/")}
        # Commands within commands have pages too.
        self.assertLessEqual({f"man/bayplan{command}.1" for command in ["", *self.commands()]}, pages)
        self.assertEqual(names - pages, {
            "bayplan", "LICENSE", "README.md", "CHANGELOG.md", "THIRD-PARTY.txt", "sbom.cdx.json", "completions",
            "man",
            *(f"completions/bayplan.{shell}" for shell in ("bash", "elvish", "fish", "powershell", "zsh"))})
        for crate in ("tokio", "kube", "aws-lc-rs"):
            self.assertRegex(third, rf"(?m)^{crate} [\d.]+: ")
        self.assertNotRegex(third, r"(?m)^(proptest|criterion) ")

    def commands(self):
        """The commands that the help lists, as names of man pages have them."""
        help = subprocess.run([self.binary(), "--help"], check=True, capture_output=True, text=True).stdout
        listed = help.split("Commands:", 1)[1].split("\n\n", 1)[0]
        return [f"-{name}" for name in re.findall(r"(?m)^  ([a-z-]+)", listed)]

    def binary(self):
        return self.env["BAYPLAN_BINARY_amd64"]

    def test_man_pages_have_what_the_help_has(self):
        with tarfile.open(self.dist / f"{NAME}.tar.gz") as archive:
            page = archive.extractfile(f"{NAME}/man/bayplan-run.1").read().decode()
        self.assertTrue(page.startswith(".ie "), page[:80])
        for words in (".TH bayplan-run 1", ".SH NAME", ".SH OPTIONS", "pool=gpu"):
            self.assertIn(words, page)

    def test_the_checksums(self):
        run("sha256sum", "--check", "SHA256SUMS", cwd=self.dist)
        self.assertIn(f"{NAME}.tar.gz", (self.dist / "SHA256SUMS").read_text())

    def test_the_list_of_dependencies(self):
        document = json.loads((self.dist / f"{NAME}.sbom.cdx.json").read_text())
        self.assertEqual((document["bomFormat"], document["specVersion"]), ("CycloneDX", "1.5"))
        parts = {document["metadata"]["component"]["bom-ref"], *(of["bom-ref"] for of in document["components"])}
        named = {of["ref"] for of in document["dependencies"]}
        self.assertEqual(named, parts)
        self.assertLessEqual({dep for of in document["dependencies"] for dep in of["dependsOn"]}, parts)
        locked = set(re.findall(r'name = "(.*)"\nversion = "(.*)"', (ROOT / "Cargo.lock").read_text()))
        self.assertLessEqual({(of["name"], of["version"]) for of in document["components"]}, locked)

    def image(self):
        """The files of the layout, with every blob checked against its name."""
        with tarfile.open(self.dist / f"bayplan-{VERSION}-image.tar") as archive:
            files = {of.name: archive.extractfile(of).read() for of in archive.getmembers() if of.isfile()}
        for name, content in files.items():
            if name.startswith("blobs/sha256/"):
                self.assertEqual(hashlib.sha256(content).hexdigest(), name.rsplit("/", 1)[1])
        return files

    def test_the_image(self):
        files = self.image()
        blob = lambda of: files[f"blobs/sha256/{of['digest'].split(':')[1]}"]
        index = json.loads(blob(json.loads(files["index.json"])["manifests"][0]))
        [described] = index["manifests"]
        self.assertEqual(described["platform"], {"architecture": "amd64", "os": "linux"})
        manifest = json.loads(blob(described))
        config = json.loads(blob(manifest["config"]))
        layer = gzip.decompress(blob(manifest["layers"][0]))
        self.assertEqual(config["rootfs"]["diff_ids"], [f"sha256:{hashlib.sha256(layer).hexdigest()}"])
        self.assertEqual(config["config"]["Labels"]["org.opencontainers.image.version"], VERSION)
        with tempfile.NamedTemporaryFile() as file:
            file.write(layer)
            file.flush()
            with tarfile.open(file.name) as archive:
                modes = {of.name: of.mode for of in archive.getmembers() if of.isfile()}
        self.assertEqual(modes, {
            "bayplan": 0o755, "etc/ssl/certs/ca-certificates.crt": 0o644, "licenses/LICENSE": 0o644,
            "licenses/THIRD-PARTY.txt": 0o644})

        # Containerfile says the same.
        text = (ROOT / "Containerfile").read_text().split("FROM scratch\n")[1]
        word = lambda name: re.search(rf"^{name} (.*)$", text, re.M).group(1)
        self.assertEqual(config["config"]["User"], word("USER"))
        self.assertEqual(config["config"]["ExposedPorts"], {f"{word('EXPOSE')}/tcp": {}})
        self.assertEqual(config["config"]["Entrypoint"], json.loads(word("ENTRYPOINT")))
        self.assertEqual(config["config"]["Cmd"], json.loads(word("CMD")))
        copied = {path.lstrip("/") for path in re.findall(r"^COPY .* (/\S+)$", text, re.M)}
        self.assertEqual(copied, set(modes) - {"licenses/LICENSE", "licenses/THIRD-PARTY.txt"})

    def test_equal_inputs_give_an_equal_image(self):
        before = (self.dist / f"bayplan-{VERSION}-image.tar").read_bytes()
        run("tools/image.py", env=self.env, cwd=self.checkout)
        self.assertEqual(before, (self.dist / f"bayplan-{VERSION}-image.tar").read_bytes())

    @unittest.skipUnless(shutil.which("skopeo"), "skopeo is not on this machine")
    def test_skopeo_reads_the_image(self):
        archive = f"oci-archive:{self.dist}/bayplan-{VERSION}-image.tar"
        found = json.loads(run("skopeo", "inspect", "--override-arch", "amd64", "--override-os", "linux", archive))
        self.assertEqual((found["Architecture"], found["Os"]), ("amd64", "linux"))
        run("skopeo", "copy", "--all", archive, f"dir:{self.folder}/copied")

    def test_what_is_missing_is_said(self):
        empty = self.folder / "empty"
        empty.mkdir()
        done = subprocess.run([ROOT / "tools/image.py", "--dist", empty], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("run `make dist` first", done.stderr)
        done = subprocess.run([ROOT / "tools/dist.sh", "riscv"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown architecture `riscv`", done.stderr)

    def test_the_recipe_signs_and_verifies(self):
        page = (ROOT / "docs/release.md").read_text()
        [block] = [text for text in re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S) if "ssh-keygen" in text]
        folder = self.folder / "signed"
        shutil.copytree(self.dist, folder / "dist")
        run("bash", "-euo", "pipefail", "-c", block, cwd=folder)
        verify = [line for line in block.splitlines() if "-Y verify" in line][0]
        with open(folder / "dist/SHA256SUMS", "a") as file:
            file.write("changed\n")
        done = subprocess.run(["bash", "-c", verify], cwd=folder, capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0, "a changed file has no valid signature")


if __name__ == "__main__":
    unittest.main(verbosity=2)
