import json

import pytest

from control_plane import ROOT, ControlPlane, wait_until


@pytest.fixture(scope="session")
def plane():
    """A control plane that tests share; each uses names of its own, or leaves things as they were."""
    with ControlPlane() as plane:
        plane.kubectl("apply", "--filename", ROOT / "tests/ship/kinds.yaml")
        plane.kubectl("wait", "--for=condition=Established", "--filename", ROOT / "tests/ship/kinds.yaml")
        yield plane


def strict(schema):
    """Objects of the schema have no other fields than those it names."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: strict(part) for key, part in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        found["additionalProperties"] = False
    return found


@pytest.fixture(scope="session")
def schemas(plane, tmp_path_factory):
    """A folder of JSON schemas for kubeconform, from the OpenAPI description of the API server itself."""
    folder = tmp_path_factory.mktemp("schemas")
    written = 0

    def described(group, kinds):
        """The server describes custom kinds some time after it serves them."""
        of = plane.get("/openapi/v3")["paths"].get(f"apis/{group}/v1")
        text = plane.raw("GET", of["serverRelativeURL"]).decode() if of else ""
        return all(f'"kind":"{kind}"' in text for kind in kinds)
    wait_until("Certificate is described", lambda: described("cert-manager.io", ["Certificate"]))
    wait_until("kinds of monitoring are described",
               lambda: described("monitoring.coreos.com", ["ServiceMonitor", "PrometheusRule"]))
    for path in plane.get("/openapi/v3")["paths"].values():
        document = plane.get(path["serverRelativeURL"])
        components = document.get("components", {}).get("schemas", {})
        for name, schema in components.items():
            for kind in schema.get("x-kubernetes-group-version-kind", []):
                text = json.dumps({"$ref": f"#/components/schemas/{name}", "components": {"schemas": strict(components)}})
                # As kubeconform names a file: with the first word of the group.
                group = f"{kind['group'].split('.')[0]}-" if kind["group"] else ""
                file = folder / f"{kind['kind']}-{group}{kind['version']}.json".lower()
                if "properties" in schema and not file.exists():
                    file.write_text(text)
                    written += 1
    assert written > 50
    return folder
