"""What ships for repositories of policies, run as written: the GitHub action with the workflow of examples/ci, the hooks of
pre-commit, and the manifest for krew.
"""
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

import yaml

from control_plane import ROOT, run

VERSION = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.M).group(1)
NAME = f"bayplan-{VERSION}-linux-amd64"
PRE_COMMIT = "4.3.0"


class Action:
    """Runs workflows as GitHub does, as far as the shipped ones need it."""

    def __init__(self, folder, releases):
        self.folder, self.releases, self.said = folder, releases, ""
        self.paths = folder / "paths"
        self.paths.touch()
        (folder / "bin").mkdir()
        self.env = {**os.environ, "GITHUB_PATH": str(self.paths), "RUNNER_TEMP": str(folder / "temp")}
        (folder / "temp").mkdir()

    def shell(self, text, env=None):
        path = ":".join([*self.paths.read_text().split(), os.environ["PATH"]])
        done = subprocess.run(["bash", "-eo", "pipefail", "-c", text], cwd=self.folder / "repository", capture_output=True,
                              text=True, env={**self.env, "PATH": path, **(env or {})})
        self.said += done.stdout + done.stderr
        return done.returncode

    def action(self, given):
        """The steps of action.yml."""
        action = yaml.safe_load((ROOT / "action.yml").read_text())
        assert set(given) <= set(action["inputs"]), given
        inputs = {name: given.get(name, str(of["default"])) for name, of in action["inputs"].items()}
        if "releases" not in given:
            expected = "${{ github.server_url }}/${{ github.action_repository }}/releases/download"
            assert inputs["releases"] == expected, inputs
            inputs["releases"] = self.releases
        fill = lambda text: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda of: inputs[of.group(1)], text)
        for step in action["runs"]["steps"]:
            assert step["shell"] == "bash" and "${{" not in step["run"], "a shell would read the inputs"
            if step.get("if") == "inputs.command != ''" and not inputs["command"]:
                continue
            code = self.shell(step["run"], {name: fill(value) for name, value in step["env"].items()})
            if code != 0:
                return code
        return 0

    def workflow(self, path):
        [job] = yaml.safe_load(path.read_text())["jobs"].values()
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                continue
            code = self.action(step.get("with", {})) if "uses" in step else self.shell(step["run"])
            if code != 0:
                return code
        return 0


class Repository(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="bayplan-repository-"))
        # A release: an archive as tools/dist.sh makes it, which a test of its own compares.
        inside = cls.folder / NAME
        inside.mkdir()
        shutil.copy(os.environ["BAYPLAN_BINARY"], inside / "bayplan")
        subprocess.run(["strip", inside / "bayplan"], check=True)
        shutil.copy(ROOT / "LICENSE", inside)
        (inside / "THIRD-PARTY.txt").write_text("none\n")
        cls.release = cls.folder / f"releases/v{VERSION}"
        cls.release.mkdir(parents=True)
        run("tar", "-C", cls.folder, "-czf", cls.release / f"{NAME}.tar.gz", NAME)
        sums = run("sha256sum", f"{NAME}.tar.gz", cwd=cls.release)
        (cls.release / "SHA256SUMS").write_text(sums)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def setUp(self):
        self.work = Path(tempfile.mkdtemp(dir=self.folder))
        repository = self.work / "repository"
        shutil.copytree(ROOT / "examples/first", repository / "policies", ignore=lambda *_: ["cluster.yaml"])
        # A cluster in which all pods that wait fit.
        objects = list(yaml.safe_load_all((ROOT / "examples/first/cluster.yaml").read_text()))
        objects = [of for of in objects if not (of and of["kind"] == "Pod" and of["metadata"]["name"] == "train-c")]
        (repository / "snapshot.yaml").write_text(yaml.safe_dump_all(objects))
        shutil.copy(ROOT / "examples/first/cluster.yaml", repository / "policies/cluster.yaml")
        self.policy = repository / "policies/gpu.bay"
        self.repository = repository

    def github(self, releases=None):
        return Action(self.work, f"file://{releases or self.folder / 'releases'}")

    def test_the_workflow_passes_and_fails(self):
        github = self.github()
        self.assertEqual(github.workflow(ROOT / "examples/ci/workflow.yaml"), 0, github.said)
        self.policy.write_text(self.policy.read_text().replace('"avoid"', '"avoided"'))
        self.assertEqual(github.workflow(ROOT / "examples/ci/workflow.yaml"), 1, github.said)
        self.policy.write_text("policy gpu-placement {\n")
        self.assertEqual(github.workflow(ROOT / "examples/ci/workflow.yaml"), 1, github.said)
        self.assertIn("::error file=policies/gpu.bay,line=1", github.said)

    def test_the_action_runs_a_command_and_a_shell_does_not_read_it(self):
        github = self.github()
        self.assertEqual(github.action({"command": "lint policies/"}), 0, github.said)
        self.assertNotEqual(github.action({"command": "lint $(touch made) ; touch made"}), 0)
        self.assertFalse((self.repository / "made").exists())

    def test_the_action_refuses_what_has_another_checksum(self):
        releases = self.work / "releases"
        shutil.copytree(self.folder / "releases", releases)
        with open(releases / f"v{VERSION}/{NAME}.tar.gz", "ab") as file:
            file.write(b"x")
        github = self.github(releases)
        self.assertEqual(github.action({}), 1)
        self.assertIn("is not what SHA256SUMS says", github.said)
        self.assertEqual(github.paths.read_text(), "")

    def test_versions_are_those_of_this_tree(self):
        action = yaml.safe_load((ROOT / "action.yml").read_text())
        self.assertEqual(action["inputs"]["version"]["default"], VERSION)
        for file in ("workflow.yaml", "pre-commit-config.yaml"):
            self.assertIn(f"v{VERSION}", (ROOT / "examples/ci" / file).read_text())

    def test_the_hooks(self):
        cache = Path(os.environ.get("BAYPLAN_CACHE") or Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "bayplan")
        tool = cache / f"pre-commit-{PRE_COMMIT}"
        if not (tool / "bin/pre-commit").exists():
            run("python3", "-m", "venv", tool)
            run(tool / "bin/pip", "install", "--quiet", f"pre-commit=={PRE_COMMIT}")
        git = lambda folder, *words: run("git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words, cwd=folder)
        hooks = self.work / "hooks"
        hooks.mkdir()
        shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks)
        for folder in (hooks, self.repository):
            git(folder, "init", "--quiet")
        git(hooks, "add", ".")
        git(hooks, "commit", "--quiet", "--message", "hooks")
        git(hooks, "tag", f"v{VERSION}")
        text = (ROOT / "examples/ci/pre-commit-config.yaml").read_text()
        (self.repository / ".pre-commit-config.yaml").write_text(text.replace("https://github.com/OWNER/bayplan", str(hooks)))
        git(self.repository, "add", ".")
        env = {**os.environ, "PATH": f"{self.folder / NAME}:{os.environ['PATH']}", "PRE_COMMIT_HOME": str(self.work / "cache")}

        def commit(*words):
            return subprocess.run([tool / "bin/pre-commit", "run", "--all-files", *words], cwd=self.repository, env=env,
                                  capture_output=True, text=True)
        done = commit()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("Passed"), 2, done.stdout)
        self.policy.write_text(self.policy.read_text().replace('"avoid"', '"avoided"'))
        done = commit()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"bayplan test\.+Failed")
        # The third hook has what the others have.
        ids = [hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())]
        self.assertEqual(ids, ["bayplan-lint", "bayplan-fix", "bayplan-test"])
        self.policy.write_text('/// x\npolicy p {\n  filter f { require node.labels["gpu"] == true else "r" }\n}\n')
        (self.repository / ".pre-commit-config.yaml").write_text(
            (self.repository / ".pre-commit-config.yaml").read_text().replace("bayplan-lint", "bayplan-fix"))
        commit()
        self.assertIn('node.labels["gpu"] == "true"', self.policy.read_text())

    def test_the_manifest_for_krew(self):
        run("tools/krew.py", "--releases", "https://example.com/bayplan/releases/download", "--dist", self.release)
        manifest = yaml.safe_load((self.release / "krew/bayplan.yaml").read_text())
        self.assertEqual(set(manifest), {"apiVersion", "kind", "metadata", "spec"})
        self.assertEqual(manifest["apiVersion"], "krew.googlecontainertools.github.com/v1alpha2")
        self.assertEqual(manifest["kind"], "Plugin")
        self.assertRegex(manifest["metadata"]["name"], r"^[a-z][a-z0-9-]*$")
        spec = manifest["spec"]
        self.assertEqual(set(spec), {"version", "homepage", "shortDescription", "description", "platforms"})
        self.assertRegex(spec["version"], r"^v\d+\.\d+\.\d+$")
        self.assertLess(len(spec["shortDescription"]), 50)
        self.assertFalse(spec["shortDescription"].endswith("."))
        self.assertEqual(spec["homepage"], "https://example.com/bayplan")
        [platform] = spec["platforms"]
        self.assertEqual(set(platform), {"selector", "uri", "sha256", "bin", "files"})
        self.assertEqual(platform["selector"], {"matchLabels": {"os": "linux", "arch": "amd64"}})
        archive = self.release / platform["uri"].rsplit("/", 1)[1]
        self.assertEqual(platform["sha256"], run("sha256sum", archive).split()[0])
        # As krew does: the files come where `to` says, and `bin` and a licence are among them.
        with tarfile.open(archive) as tar:
            names = tar.getnames()
        for file in platform["files"]:
            self.assertIn(file["from"], names)
            self.assertEqual(file["to"], ".")
        installed = [file["from"].rsplit("/", 1)[1] for file in platform["files"]]
        self.assertIn(platform["bin"], installed)
        self.assertIn("LICENSE", installed)


if __name__ == "__main__":
    unittest.main(verbosity=2)
