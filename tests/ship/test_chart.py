"""The chart: its cases, its values, its flags, and what an API server says about what it renders."""
import json
import re
import tarfile

import pytest
import yaml

from chart import (BINARY, CASES, CHART, arguments, flags_of, identity, objects, only, refusal, render, rendered,
                   values_of)
from control_plane import ROOT, run

# Flags of `bayplan run` that no value reaches, and why.
WITHOUT_VALUE = {
    "--leader-elect": "`configuration.leaderElection` has it",
    "--leader-elect-lease-duration": "`configuration.leaderElection` has it",
    "--leader-elect-renew-deadline": "`configuration.leaderElection` has it",
    "--leader-elect-retry-period": "`configuration.leaderElection` has it",
    "--leader-elect-resource-lock": "only `leases` exists",
    "--leader-elect-resource-name": "`configuration.leaderElection` has it",
    "--leader-elect-resource-namespace": "`configuration.leaderElection` has it",
    "--kubeconfig": "a pod has a service account",
    "--master": "a pod has a service account",
    "--authentication-kubeconfig": "a pod has a service account",
    "--authorization-kubeconfig": "a pod has a service account",
    "--authentication-token-webhook-cache-ttl": "the default is kube-scheduler's; `extraArgs` has it",
    "--authorization-webhook-cache-authorized-ttl": "the default is kube-scheduler's; `extraArgs` has it",
    "--authorization-webhook-cache-unauthorized-ttl": "the default is kube-scheduler's; `extraArgs` has it",
    "--authorization-always-allow-paths": "probes need the default",
    "--bind-address": "a pod has an address of its own",
    "--permit-port-sharing": "a pod has ports of its own",
    "--cert-dir": "the file system is read-only; `securePort.certificateSecret` has a certificate",
    "--pod-max-in-unschedulable-pods-duration": "for debugging; `extraArgs` has it",
    "--write-config-to": "writes a file and ends",
    "--emulated-version": "for comparisons with kube-scheduler; `extraArgs` has it",
    "--min-compatibility-version": "it changes nothing; `extraArgs` has it",
    "--show-hidden-metrics-for-version": "for dashboards that are not adapted yet; `extraArgs` has it",
    "--admission-client-ca-file": "API servers show a certificate only where their own configuration says so; `extraArgs` has it",
    "--color": "a log has no colours",
    "--quiet": "a log is no output of a command",
    "--no-graphics": "a log has no drawings",
    "--help": "prints the help",
}


def test_cases_of_helm_unittest_pass():
    print(run("helm-unittest", "--strict", CHART))


def test_the_packed_chart_has_its_test_and_no_cases(tmp_path):
    run("helm", "package", CHART, "--destination", tmp_path)
    [packed] = tmp_path.iterdir()
    with tarfile.open(packed) as archive:
        names = archive.getnames()
    assert "bayplan/templates/tests/rights.yaml" in names and "bayplan/files/alerts.yaml" in names
    assert not [name for name in names if name.startswith(("bayplan/ci/", "bayplan/tests/"))]


def test_the_chart_has_the_version_of_the_program():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    [version] = re.findall(r'^version = "([^"]+)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    assert chart["version"] == chart["appVersion"] == version


@pytest.mark.parametrize("case", CASES)
def test_lint_has_no_complaint(case):
    run("helm", "lint", "--strict", CHART, "--values", values_of(case))


def keys_of_values(value, path=""):
    """Every key, but those below one whose content is the user's."""
    for key, part in value.items():
        yield path + key
        if isinstance(part, dict) and part and path + key not in OF_THE_USER:
            yield from keys_of_values(part, f"{path}{key}.")


OF_THE_USER = {"resources", "monitoring.dashboard.labels"}


def keys_of_schema(schema, path=""):
    for key, part in schema.get("properties", {}).items():
        yield path + key
        if part.get("type") == "object":
            yield from keys_of_schema(part, f"{path}{key}.")


def test_values_and_schema_have_the_same_keys():
    values = set(keys_of_values(yaml.safe_load((CHART / "values.yaml").read_text())))
    schema = set(keys_of_schema(json.loads((CHART / "values.schema.json").read_text())))
    # Helm itself sets `global`.
    assert values == schema - {"global"}


def test_everything_values_leave_no_default():
    """So that the cases render every branch; what excludes one another is in other cases."""
    elsewhere = {"way", "extender", "policies.from", "policies.existingConfigMap", "policies.account.existing",
                 "policies.createNamespace", "securePort.cipherSuites", "image.tag", "serviceAccount.create", "rbac.create",
                 "rbac.roles", "admission", "flowSchemas", "podDisruptionBudget.enabled", "networkPolicy.extenderFrom",
                 "monitoring.dashboard.labels"}
    given = set(keys_of_values(yaml.safe_load(values_of("everything").read_text())))
    known = keys_of_values(yaml.safe_load((CHART / "values.yaml").read_text()))
    left = {key for key in known
            if not any(key == one or key.startswith(f"{one}.") for one in elsewhere | given)
            and not any(one.startswith(f"{key}.") for one in given)}
    assert not left


def test_every_flag_of_run_has_a_value_or_a_reason():
    reached = set()
    for case in CASES:
        given = arguments(rendered("--values", str(values_of(case))))
        extra = yaml.safe_load(values_of(case).read_text()).get("extraArgs", [])
        reached |= {word.split("=")[0] for word in given if word not in extra} if given[0] == "run" else set()
    reached = {"--v" if word == "-v" else word for word in reached}
    reached |= {"--check-rights"}  # `helm test`
    ciphers = arguments(rendered("--set", "securePort.cipherSuites={TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}"))
    reached |= {word.split("=")[0] for word in ciphers if "cipher" in word}
    # `files-values.yaml` names `--policies`, all others `--policy-namespaces`.
    known = flags_of("run")
    assert reached - {"run"} <= known
    assert known - reached == set(WITHOUT_VALUE), (known - reached) ^ set(WITHOUT_VALUE)


def test_every_flag_of_extender_has_a_value_or_a_reason():
    reached = set()
    for extra in [("--set", "extender.bind=true"), ("--values", str(values_of("everything")), "--set", "configuration=null",
                                                  "--set", "writeStatus=null", "--set", "nodes=", "--set", "kubernetes=",
                                                  "--set", "webhook.enabled=false"), ("--values", str(values_of("files")))]:
        given = arguments(rendered(*extra, "--set", "way=extender"))
        reached |= {word.split("=")[0] for word in given}
    reached = {"--v" if word == "-v" else word for word in reached}
    reached |= {"--check-rights"}  # `helm test`
    known = flags_of("extender")
    assert known - reached <= set(WITHOUT_VALUE), known - reached - set(WITHOUT_VALUE)


def test_pods_start_again_when_the_configuration_changes_and_not_when_a_policy_does():
    def template(*given):
        return only("Deployment", rendered("--set", "policies.from=files", *given))["spec"]["template"]
    text = lambda what: ["--set-string", f"policies.texts.a\\.bay={what}"]
    assert template(*text("one")) == template(*text("two"))
    assert template(*text("one")) != template(*text("one"), "--set", "configuration.parallelism=4")


def rights(of, account):
    """Namespace, group, resource, name and verb of what roles grant to a service account."""
    granted = set()
    for binding in of:
        bound = binding["kind"] in ("RoleBinding", "ClusterRoleBinding")
        if not bound or account not in [(one.get("namespace"), one["name"]) for one in binding["subjects"]]:
            continue
        place = binding["metadata"].get("namespace", "")
        [role] = [one for one in of if identity(one) == (binding["roleRef"]["kind"], place, binding["roleRef"]["name"])]
        for rule in role["rules"]:
            for group in rule["apiGroups"]:
                granted |= {(place, group, resource, name, verb) for resource in rule["resources"]
                            for name in rule.get("resourceNames", [""]) for verb in rule["verbs"]}
    return granted


@pytest.mark.parametrize("case", CASES)
def test_the_chart_grants_what_rbac_prints_and_the_rules_of_its_values(case, tmp_path):
    of = rendered("--values", str(values_of(case)))
    given = [word for word in arguments(of) if word.startswith("--")]
    flag = {word.split("=")[0]: word for word in given}
    account = only("Deployment", of)["spec"]["template"]["spec"]["serviceAccountName"]
    names = {"--write-status", "--policy-service-account", "--policy-namespaces", "--bind", "--secure-port", "--feature-gates"}
    flags = [f"--service-account={account}", *(word for name, word in flag.items() if name in names)]
    if "--config" in flag:
        [text] = [one["data"]["config.yaml"] for one in of if one["kind"] == "ConfigMap" and "config.yaml" in one["data"]]
        (tmp_path / "config.yaml").write_text(text)
        flags.append(f"--config={tmp_path}/config.yaml")
    else:
        flags.append("--way=extender")
    if "--policies" in flag:
        flags.append("--policy-namespaces=")
    printed = rights(objects(run(BINARY, "rbac", *flags)), ("bayplan", account))
    extra = yaml.safe_load(values_of(case).read_text()).get("rbac", {}).get("extraRules", [])
    for rule in extra:
        printed |= {("", group, resource, "", verb) for group in rule["apiGroups"] for resource in rule["resources"]
                    for verb in rule["verbs"]}
    assert rights(of, ("bayplan", account)) == printed


@pytest.mark.parametrize("case", CASES)
def test_what_is_rendered_has_the_schemas_of_the_api_server(case, schemas):
    location = f"{schemas}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    print(run("kubeconform", "-schema-location", location, "-summary", "-",
              input=render("--values", str(values_of(case)))))


def test_the_schemas_refuse_a_field_that_is_not_known(schemas):
    location = f"{schemas}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    wrong = render().replace("schedulerName: default-scheduler", "schedulersName: default-scheduler")
    said = run("kubeconform", "-schema-location", location, "-", input=wrong, check=False)
    assert "schedulersName" in said, said


@pytest.mark.parametrize("case", CASES)
def test_an_api_server_takes_what_is_rendered(case, plane):
    text = render("--values", str(values_of(case)), release="applied", namespace="applied")
    for namespace in {"applied"} | {of["metadata"]["namespace"] for of in objects(text) if "namespace" in of["metadata"]}:
        plane.kubectl("create", "namespace", namespace, check=False)
    plane.kubectl("apply", "--server-side", "--field-manager=test", "--filename=-", input=text)
    # Again: nothing changes, and no other manager owns a field.
    said = plane.kubectl("apply", "--server-side", "--field-manager=test", "--filename=-", input=text)
    assert "serverside-applied" in said
    rest = [of for of in objects(text) if of["kind"] != "Namespace"]
    plane.kubectl("delete", "--wait=false", "--filename=-", input=yaml.safe_dump_all(rest))


@pytest.mark.parametrize("given, sentence", [
    (["--set", "way=besides"], "way"),
    (["--set", "replicas=two"], "replicas"),
    (["--set-string", "replicas=2"], "got string, want integer"),
    (["--set", "polices.namespace=x"], "additional properties 'polices' not allowed"),
    (["--set", "policies.namespaces={x}"], "additional properties 'namespaces' not allowed"),
    (["--set", r"policies.texts.gpu\.txt=policy"], "additional properties 'gpu.txt' not allowed"),
    (["--set", "policies.onInvalid={skip}"], "onInvalid"),
    (["--set", "api.watchMaxAge=3"], "watchMaxAge"),
    (["--set", "schedulerName=" + "x" * 64], "maxLength"),
    (["--set", "fullnameOverride=" + "x" * 41], "maxLength"),
    (["--set", "image.digest=latest"], "digest"),
    (["--kube-version", "1.32.4"], "needs Kubernetes 1.33 or newer, and this API server is v1.32.4: upgrade it first"),
    (["--namespace", "bayplan-policies"], "set policies.namespace"),
    (["--set", "schedulerName=default-scheduler"], "set way=instead to take its place"),
    (["--set", "way=instead", "--set", "configuration.profiles[0].schedulerName=x"], "add it to configuration.profiles"),
    (["--set", "way=extender", "--set", "configuration.parallelism=4"], "take `configuration` out of the values"),
    (["--set", "way=extender", "--set", "writeStatus={PodGroup}"], "take `writeStatus` out of the values"),
    (["--set", "way=extender", "--set", "nodes=pool=gpu"], "take `nodes` out of the values"),
    (["--set", "way=extender", "--set-string", "kubernetes=1.36"], "take `kubernetes` out of the values"),
    (["--set-string", "kubernetes=1.35"], "kubernetes"),
    (["--set", "policies.from=files"], "set policies.texts or policies.existingConfigMap"),
    (["--set", "policies.existingConfigMap=x"], "set policies.from=files, or take it out"),
    (["--set", "replicas=1"], "raise replicas, or set podDisruptionBudget.enabled=false"),
    (["--set", "way=extender", "--set", "webhook.enabled=true"], "run `bayplan webhook` beside it"),
    (["--set", "webhook.maxNewlyWaiting=10"], "maxNewlyWaiting"),
    (["--set", "way=extender", "--set", "extender.certificate.from=secret"], "with tls.crt, tls.key and ca.crt"),
    (["--set", "way=extender", "--set", "extender.certificate.from=certManager"], "to an Issuer that is a CA"),
])
def test_wrong_values_are_refused_with_a_sentence(given, sentence):
    said = refusal(*given)
    assert sentence in said, said


def test_a_long_name_of_the_release_is_refused():
    from control_plane import Failed
    with pytest.raises(Failed, match="choose a shorter name of the release, or set fullnameOverride"):
        run("helm", "template", "x" * 45, CHART, "--namespace", "bayplan")


def test_the_webhook_has_a_certificate_of_its_service_and_never_stops_a_change():
    all_of = rendered("--set", "webhook.enabled=true")
    configuration = only("ValidatingWebhookConfiguration", all_of)
    [webhook] = configuration["webhooks"]
    assert (webhook["failurePolicy"], webhook["timeoutSeconds"], webhook["sideEffects"]) == ("Ignore", 2, "None")
    secret = next(one for one in all_of if one["kind"] == "Secret" and one["metadata"]["name"].endswith("-webhook"))
    assert webhook["clientConfig"]["caBundle"] == secret["data"]["ca.crt"]
    service = next(one for one in all_of if one["kind"] == "Service" and one["metadata"]["name"] == webhook["clientConfig"]["service"]["name"])
    assert webhook["clientConfig"]["service"]["port"] in [port["port"] for port in service["spec"]["ports"]]
    assert "--admission-listen=0.0.0.0:8891" in arguments(all_of)
    # Without it nothing is there.
    assert not [one for one in rendered() if one["kind"] == "ValidatingWebhookConfiguration"]
