"""Manifests for kubectl and kustomize, made from what the chart renders.

`deploy` has those of the way `beside`, `deploy/instead` and `deploy/extender` those of the other two, and
`deploy/static-pods` those for a control plane whose kubelets start Bayplan from a file. A label or annotation that only
Helm needs is left out, and everything is in files named as the templates.
"""
import re

from chart import render
from control_plane import ROOT

DEPLOY = ROOT / "deploy"
FILES = ["namespace", "rbac", "admission", "flowschemas", "config", "deployment", "certificate"]
HELMS = re.compile(
    r"^ +(helm\.sh/.*|app\.kubernetes\.io/(managed-by|instance): .*|checksum/configuration: .*)\n", re.MULTILINE)
# An `annotations:` that has nothing left below it.
EMPTY = re.compile(r"^( +)annotations:\n(?!\1 )", re.MULTILINE)
OWN = """apiVersion: v1
kind: Namespace
metadata:
  name: bayplan
  labels:
    app.kubernetes.io/name: bayplan
    pod-security.kubernetes.io/enforce: restricted
"""
WRITTEN = "# Written by `make golden-ship` from what the chart in deploy/chart renders.\n"


def files(*arguments, namespace="bayplan"):
    """The rendered documents by the name of their template, as text."""
    found = {}
    for document in render(*arguments, namespace=namespace).split("---\n# Source: bayplan/templates/")[1:]:
        name, text = document.split(".yaml\n", 1)
        if name.startswith("tests/"):
            continue
        found.setdefault(name, []).append(EMPTY.sub("", HELMS.sub("", text)).strip("\n") + "\n")
    return {name: "---\n".join(in_order(name, texts)) for name, texts in found.items()}


def in_order(name, texts):
    """As in the template: Helm sorts documents by kind, and a comment at the top of the file is then anywhere."""
    if name == "deployment":
        kinds = ["kind: Deployment", "kind: PodDisruptionBudget", "kind: Service"]
        return sorted(texts, key=lambda text: [kind in text for kind in kinds].index(True))
    return texts


def kustomization(names):
    text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
    return text + "".join(f"- {name}.yaml\n" for name in names) + (
        "images:\n- name: bayplan\n  newName: bayplan\n  newTag: 0.1.0\n")


def base(folder, command, *arguments):
    """The files of a way, with a kustomization of them."""
    made = files(*arguments)
    made["namespace"] = f"{OWN}---\n{made['namespace']}"
    names = [name for name in FILES if name in made]
    texts = {DEPLOY / folder / f"{name}.yaml": WRITTEN + made[name] for name in names}
    if folder:
        texts[DEPLOY / folder / "kustomization.yaml"] = f"# {command}\n{kustomization(names)}"
    return texts


def static_pods():
    """Rights of the user of kube-scheduler's kubeconfig, in whose name the static pod runs, and the pod."""
    made = files("--set", "way=instead,flowSchemas.enabled=false", namespace="kube-system")
    account = "- kind: ServiceAccount\n  name: bayplan\n  namespace: kube-system\n"
    user = "- kind: User\n  apiGroup: rbac.authorization.k8s.io\n  name: system:kube-scheduler\n"
    rights = made["rbac"].replace(account, user)
    documents = [text for text in rights.split("---\n") if "kind: ServiceAccount\nmetadata:\n  name: bayplan\n" not in text]
    admission = made["admission"].replace("system:serviceaccount:kube-system:bayplan", "system:kube-scheduler")
    folder = DEPLOY / "static-pods"
    return {
        folder / "namespace.yaml": WRITTEN + made["namespace"],
        folder / "rbac.yaml": WRITTEN + "---\n".join(documents),
        folder / "admission.yaml": WRITTEN + admission,
        folder / "kustomization.yaml":
            "# kubectl apply -k deploy/static-pods\n" + kustomization(["namespace", "rbac", "admission"]).split("images:")[0],
    }


def all_files():
    """Every generated file with its text."""
    secret = "extender.certificate.from=secret,extender.certificate.secret=bayplan-extender"
    return {
        **base("", "kubectl apply -k deploy/"),
        **base("instead", "kubectl apply -k deploy/instead", "--set", "way=instead"),
        **base("extender", "kubectl apply -k deploy/extender; docs/install.md says how to make the Secret `bayplan-extender`",
               "--set", f"way=extender,{secret}"),
        **static_pods(),
    }
