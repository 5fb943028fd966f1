"""A release on a real API server: installed, used with the rights of its account, upgraded, uninstalled."""
import json
import re
import tarfile

import pytest
import yaml

from chart import BINARY, CHART, only, rendered
from control_plane import ROOT, Failed, run, stop, wait_until

# A chart as it was packed at an earlier time.
EARLIER = ROOT / "tests/ship/earlier/bayplan-0.1.0.tgz"

def helm(plane, *arguments, check=True):
    return run("helm", *arguments, env=plane.env, check=check)


def listing(plane):
    """Every object of the cluster, as KIND/NAME of a namespace."""
    kinds = plane.kubectl("api-resources", "--verbs=list", "--output=name").split()
    kinds = [kind for kind in kinds if not kind.startswith(("events", "componentstatuses"))]
    items = json.loads(plane.kubectl("get", ",".join(kinds), "--all-namespaces", "--output=json"))["items"]
    names = {(of["kind"], of["metadata"].get("namespace", ""), of["metadata"]["name"]) for of in items}
    return {name for name in names if not name[2].startswith("sh.helm.release")}


def left_by(notes):
    """What the notes say that uninstalling leaves, and no more."""
    lines = notes.split("`helm uninstall` leaves:\n")[1].splitlines()
    return [line.strip() for line in lines if line.startswith("  ")]


def start(plane, namespace, deployment, tmp_path):
    """Starts the program with the arguments of a Deployment, its files, and the rights of its account."""
    pod = plane.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/{deployment}")["spec"]["template"]["spec"]
    words = []
    for word in pod["containers"][0]["args"]:
        for mount, volume in zip(pod["containers"][0]["volumeMounts"], pod["volumes"]):
            kind, name = ("configmaps", volume["configMap"]["name"]) if "configMap" in volume else (
                "secrets", volume["secret"]["secretName"])
            folder = tmp_path / mount["name"]
            folder.mkdir(exist_ok=True)
            for key in plane.get(f"/api/v1/namespaces/{namespace}/{kind}/{name}")["data"]:
                text = plane.kubectl("get", kind, name, "--namespace", namespace,
                                     f"--output=go-template={{{{index .data \"{key}\"{' | base64decode' if kind == 'secrets' else ''}}}}}")
                (folder / key).write_text(text)
            word = word.replace(mount["mountPath"], str(folder))
        words.append(re.sub(r"0\.0\.0\.0:\d+", "127.0.0.1:0", word))
    words = [word for word in words if not word.startswith("--secure-port")]
    kubeconfig = plane.kubeconfig_of(f"{namespace}-{deployment}", plane.token_of(namespace, pod["serviceAccountName"]))
    return plane.spawn(f"program-{namespace}", [BINARY, *words, f"--kubeconfig={kubeconfig}", "--secure-port=0"])


def test_a_release_from_its_installation_to_its_end(plane, tmp_path):
    before = listing(plane)
    helm(plane, "install", "bayplan", EARLIER, "--namespace", "life", "--create-namespace",
         "--set", "policies.namespace=life-policies")
    # The chart of today over the packed one, with values that were given before.
    notes = helm(plane, "upgrade", "bayplan", CHART, "--namespace", "life", "--reuse-values")
    assert "Next:\n  helm test bayplan --namespace life" in notes
    # The program has the rights that it needs.
    program = start(plane, "life", "bayplan", tmp_path)
    wait_until("it leads", lambda: "became leader" in plane.log("program-life", 500), timeout=90)
    plane.kubectl("create", "configmap", "cool", "--namespace", "life-policies",
                  "--from-literal=cool.bay=policy cool {\n  filter heat {\n    reject \"hot\" when node.labels[\"heat\"] == \"hot\"\n  }\n}\n")
    plane.kubectl("label", "configmap", "cool", "--namespace", "life-policies", "bayplan.dev/policy=")
    wait_until("the policy serves", lambda: "Serving" in plane.kubectl(
        "get", "configmap", "cool", "--namespace", "life-policies", "--output=jsonpath={.metadata.annotations}"), timeout=60)
    wait_until("its history is written", lambda: plane.exists(
        "/api/v1/namespaces/life-policies/configmaps/bayplan-history-cool"), timeout=60)
    stop(program, grace=20)
    assert "forbidden" not in plane.log("program-life", 5000)
    # Uninstalling leaves what the notes name.
    helm(plane, "uninstall", "bayplan", "--namespace", "life")
    left = listing(plane) - before
    named = left_by(notes)
    assert named[0].startswith("namespace/life-policies,")
    assert named[1:3] == ["secret/bayplan-marks in life, the key of marks on pods", "lease/bayplan in life"]
    in_policies = {of for of in left if of[1] == "life-policies"}
    assert left - in_policies == {
        ("Namespace", "", "life"), ("Namespace", "", "life-policies"), ("Secret", "life", "bayplan-marks"),
        ("Lease", "life", "bayplan"),
    }
    # A new release takes the namespace of the policies only when its values say so.
    with pytest.raises(Failed, match="set policies.createNamespace=false to use it as it is"):
        helm(plane, "install", "other", CHART, "--namespace", "life", "--set", "policies.namespace=life-policies")
    helm(plane, "install", "other", CHART, "--namespace", "life",
         "--set", "policies.namespace=life-policies,policies.createNamespace=false")
    helm(plane, "uninstall", "other", "--namespace", "life")
    for kind, namespace, name in left:
        if kind not in ("Namespace", "EndpointSlice"):
            plane.kubectl("delete", kind, name, "--namespace", namespace, check=False)


def test_the_way_changes_by_an_upgrade(plane):
    """Server-side apply takes the change of the strategy both ways, and certificates of the extender stay."""
    deployment = "/apis/apps/v1/namespaces/ways/deployments/bayplan"
    space = ["--namespace", "ways", "--set", "policies.namespace=ways-policies"]
    helm(plane, "install", "bayplan", CHART, "--create-namespace", *space)
    assert plane.get(deployment)["spec"]["strategy"]["type"] == "RollingUpdate"
    helm(plane, "upgrade", "bayplan", CHART, *space, "--set", "way=instead")
    assert plane.get(deployment)["spec"]["strategy"] == {"type": "Recreate"}
    helm(plane, "upgrade", "bayplan", CHART, *space, "--set", "way=instead,configuration.parallelism=8")
    assert plane.get(deployment)["spec"]["strategy"]["type"] == "RollingUpdate"
    helm(plane, "upgrade", "bayplan", CHART, *space, "--set", "way=extender")
    secret = plane.get("/api/v1/namespaces/ways/secrets/bayplan-extender")["data"]
    helm(plane, "upgrade", "bayplan", CHART, *space, "--set", "way=extender,replicas=3")
    assert plane.get("/api/v1/namespaces/ways/secrets/bayplan-extender")["data"] == secret
    helm(plane, "uninstall", "bayplan", "--namespace", "ways")


def test_the_extender_has_the_rights_it_needs(plane, tmp_path):
    policy = tmp_path / "spot.bay"
    policy.write_text("policy spot {\n  filter calm {\n    reject \"spot\" when node.labels[\"kind\"] == \"spot\"\n  }\n}\n")
    helm(plane, "install", "bayplan", CHART, "--namespace", "asked", "--create-namespace",
         "--set", "way=extender,policies.namespace=asked-policies", "--set-file", f"policies.texts.spot\\.bay={policy}")
    program = start(plane, "asked", "bayplan", tmp_path)
    said = lambda: plane.log("program-asked", 500)
    wait_until("it answers", lambda: '"policies in service" revision=1 policies=1' in said() and "caches are synced" in said(),
               timeout=90)
    stop(program, grace=20)
    assert "forbidden" not in plane.log("program-asked", 5000)
    # What `helm test` runs, with the same account.
    job = only("Job", rendered("--set", "way=extender,policies.namespace=asked-policies", namespace="asked"))
    words = job["spec"]["template"]["spec"]["containers"][0]["args"]
    said = run(BINARY, *words, f"--kubeconfig={plane.folder}/asked-bayplan.kubeconfig")
    assert "the account has every right" in said, said
    helm(plane, "uninstall", "bayplan", "--namespace", "asked")


def test_each_right_of_the_extender_to_read_is_needed(plane, tmp_path):
    """Without one of them the log names it."""
    helm(plane, "install", "bayplan", CHART, "--namespace", "less", "--create-namespace",
         "--set", "way=extender,policies.namespace=less-policies,admission.enabled=false")
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/bayplan"
    rules = plane.get(role)["rules"]
    read = [resource for rule in rules if "list" in rule["verbs"] for resource in rule["resources"]]
    assert sorted(read) == ["daemonsets", "namespaces", "nodes", "pods"]
    try:
        for resource in read:
            without = [{**rule, "resources": [of for of in rule["resources"] if of != resource]} for rule in rules]
            plane.patch(role, {"rules": [rule for rule in without if rule["resources"]]})
            (plane.folder / "program-less.log").unlink(missing_ok=True)
            program = start(plane, "less", "bayplan", tmp_path)
            wait_until(f"it says that it may not list {resource}", lambda: re.search(
                f"cannot (list|watch) resource .{{0,3}}{resource}", plane.log("program-less", 500)), timeout=60)
            stop(program, grace=20)
    finally:
        helm(plane, "uninstall", "bayplan", "--namespace", "less")


def test_an_account_without_rights_is_told_what_is_missing(plane):
    """Helm's own message names the right; nothing is left behind that a second try would meet."""
    plane.kubectl("create", "namespace", "poor")
    plane.kubectl("create", "serviceaccount", "installer", "--namespace", "poor")
    kubeconfig = plane.kubeconfig_of("installer", plane.token_of("poor", "installer"))
    with pytest.raises(Failed, match="forbidden: User .*poor:installer"):
        run("helm", "install", "bayplan", CHART, "--namespace", "poor", env={"KUBECONFIG": str(kubeconfig)})


def test_the_packed_chart_is_a_chart():
    with tarfile.open(EARLIER) as packed:
        chart = yaml.safe_load(packed.extractfile("bayplan/Chart.yaml").read())
    assert chart["name"] == "bayplan"
