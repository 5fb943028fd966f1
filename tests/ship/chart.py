"""The chart as the tests see it: rendered, as objects, with the arguments of the program."""
import functools
import os
import re
import subprocess

import yaml

from control_plane import ROOT, run

CHART = ROOT / "deploy/chart"
BINARY = os.environ.get("BAYPLAN_BINARY", ROOT / "target/debug/bayplan")
CASES = sorted(path.name.removesuffix("-values.yaml") for path in (CHART / "ci").glob("*-values.yaml"))


def values_of(case):
    return CHART / f"ci/{case}-values.yaml"


@functools.cache
def render(*arguments, release="bayplan", namespace="bayplan"):
    """The text that `helm template` prints."""
    return run("helm", "template", release, CHART, "--namespace", namespace, *arguments)


def objects(text):
    return [of for of in yaml.safe_load_all(text) if of]


def identity(of):
    """Kind, namespace and name."""
    return of["kind"], of["metadata"].get("namespace", ""), of["metadata"]["name"]


def rendered(*arguments, **options):
    return objects(render(*arguments, **options))


def only(kind, of):
    [found] = [one for one in of if one["kind"] == kind]
    return found


def arguments(of):
    """The arguments of the program in rendered objects."""
    return only("Deployment", of)["spec"]["template"]["spec"]["containers"][0]["args"]


def refusal(*arguments):
    """What helm says about values that it refuses."""
    done = subprocess.run(
        ["helm", "template", "bayplan", str(CHART), "--namespace", "bayplan", *arguments], capture_output=True, text=True)
    assert done.returncode != 0, "these values are taken"
    return done.stderr


def flags_of(command):
    """The flags in the help of a command."""
    text = run(BINARY, command, "--help")
    return set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", text, re.MULTILINE))
