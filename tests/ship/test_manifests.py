"""The manifests of `deploy`: they are what the chart renders, and an API server takes them."""
import os

import pytest
import yaml

from chart import identity, objects, rendered
from control_plane import ROOT, run
from manifests import DEPLOY, all_files

BASES = {"": (), "instead": ("--set", "way=instead"),
         "extender": ("--set", "way=extender,extender.certificate.from=secret,extender.certificate.secret=bayplan-extender")}
# Labels and annotations that only Helm needs.
HELMS = {"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "helm.sh/chart", "helm.sh/resource-policy",
         "checksum/configuration"}


def kustomize(folder):
    return objects(run("kubectl", "kustomize", DEPLOY / folder))


def test_generated_files_are_what_the_chart_renders():
    made = all_files()
    if os.environ.get("BAYPLAN_GOLDEN") == "write":
        for path, text in made.items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    differs = [str(path.relative_to(ROOT)) for path, text in made.items() if not path.exists() or path.read_text() != text]
    assert not differs, "`make golden-ship` writes these files"


def without_helms(of):
    """An object without what only Helm needs."""
    if isinstance(of, list):
        return [without_helms(part) for part in of]
    if not isinstance(of, dict):
        return of
    kept = {key: without_helms(part) for key, part in of.items() if key not in HELMS}
    return {key: part for key, part in kept.items() if part != {} or key != "annotations"}


@pytest.mark.parametrize("folder", BASES)
def test_a_base_is_what_the_chart_renders(folder):
    chart = {identity(of): without_helms(of) for of in rendered(*BASES[folder]) if "helm.sh/hook" not in
             of["metadata"].get("annotations", {})}
    base = {identity(of): of for of in kustomize(folder)}
    # What only the base has: the namespace that Helm makes by a flag, and the example.
    base.pop(("Namespace", "", "bayplan"))
    base.pop(("ConfigMap", "bayplan-policies", "keep-spot-free"), None)
    assert base == chart


def test_rights_to_statuses_are_those_of_the_chart():
    text = (DEPLOY / "status-rights.yaml").read_text()
    chart = {identity(of): of for of in rendered("--set", "writeStatus={PodGroup,ElasticQuota}")}
    for of in objects(text):
        for key in ("rules", "roleRef", "subjects"):
            assert of.get(key) == chart[identity(of)].get(key)


@pytest.mark.parametrize("folder", [*BASES, "static-pods"])
def test_an_api_server_takes_a_base(folder, plane):
    plane.kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=test", "-k", DEPLOY / folder)
    rest = [of for of in kustomize(folder) if of["kind"] != "Namespace"]
    plane.kubectl("delete", "--wait=false", "--filename=-", input=yaml.safe_dump_all(rest))


def test_the_static_pod_has_the_schema_and_the_security_of_the_deployment(schemas):
    path = DEPLOY / "static-pods/bayplan.yaml"
    location = f"{schemas}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    run("kubeconform", "-schema-location", location, path)
    pod = yaml.safe_load(path.read_text())["spec"]["containers"][0]
    [deployment] = [of for of in rendered("--set", "way=instead") if of["kind"] == "Deployment"]
    other = deployment["spec"]["template"]["spec"]["containers"][0]
    assert pod["securityContext"] == other["securityContext"]
    assert pod["image"] == other["image"]
    assert {word for word in other["args"] if not word.startswith("--config")} <= set(pod["args"])
