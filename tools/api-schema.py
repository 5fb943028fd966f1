#!/usr/bin/env python3
"""Writes src/lang/language/fields/api.txt and kinds.txt from Kubernetes' OpenAPI description.

Run as `tools/api-schema.py "$(go list -m -f '{{.Dir}}' k8s.io/kubernetes)/api/openapi-spec/swagger.json" served.json`
in a module that requires k8s.io/kubernetes. `kubectl get --raw /openapi/v2 > served.json` gives the second file: only
a running API server tells which values a text may have. One line a structure: its name and its fields; `s` text,
`(a|b)` one of these texts, `i` int, `I` int of 32 bits, `b` truth, `f` float, `t` time, `d` anything, `[T]` list,
`{T}` map from texts; `?` follows what may be missing.
kinds.txt has a line for each kind that policies may look up: `group/version/Kind`, plural, `namespaced` or `cluster`,
and the structure of its fields. Pods and nodes are read by their own names; Secrets and Events are left out.
"""
import json
import sys

definitions = json.load(open(sys.argv[1]))["definitions"]
served = json.load(open(sys.argv[2]))["definitions"]
ROOTS = ["PodSpec", "PodStatus", "NodeSpec", "NodeStatus", "NamespaceSpec", "NamespaceStatus", "ObjectMeta"]
LEFT_OUT = {"managedFields"}
KINDS_LEFT_OUT = {"Pod", "Node", "Secret", "Event", "Binding", "ComponentStatus"}


CORE, META = "io.k8s.api.core.v1.", "io.k8s.apimachinery.pkg.apis.meta.v1."
full_names = {}


def full(name):
    if name in full_names:
        return full_names[name]
    return CORE + name if CORE + name in definitions else META + name


def short_name(name):
    """The last word; with the group in front where another structure has the same."""
    *_, group, _, short = name.split(".")
    if name not in (CORE + short, META + short):
        taken = CORE + short in definitions or META + short in definitions or full_names.get(short, name) != name
        short = f"{group}.{short}" if taken else short
    assert full_names.get(short, name) == name, f"two structures are called {short}"
    full_names[short] = name
    return short


def kind(schema, todo):
    if "$ref" in schema:
        name = schema["$ref"].split("/")[-1]
        of = definitions[name]
        if of.get("format") == "date-time":
            return "t"
        if of.get("format") == "int-or-string":
            return "d"
        if of.get("type") == "string":
            return "s"
        if "properties" not in of:
            return "d"
        short = short_name(name)
        todo.append(short)
        return short
    match schema.get("type"):
        case "string" if "enum" in schema:
            return "(" + "|".join(schema["enum"]) + ")"
        case "string":
            return "t" if schema.get("format") == "date-time" else "s"
        case "integer":
            return "I" if schema.get("format") == "int32" else "i"
        case "number":
            return "f"
        case "boolean":
            return "b"
        case "array":
            return "[" + kind(schema["items"], todo) + "]"
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return "{" + kind(schema["additionalProperties"], todo) + "}"
    return "d"


def with_values(name, field, schema):
    """The schema of a field with the values that the API server gives for it; none has a space or `|` in it here."""
    of = served.get(name, {}).get("properties", {}).get(field, {})
    for at, into in ((of, schema), (of.get("items", {}), schema.get("items", {}))):
        values = at.get("enum", [])
        if values and not any(" " in value or "|" in value for value in values):
            into["enum"] = values
    return schema


def kinds():
    """Kinds that can be listed, by their paths: the stable versions of each, else the newest."""
    paths = json.load(open(sys.argv[1]))["paths"]
    found = {}
    for path, operations in paths.items():
        of = operations.get("get", {})
        words = path.strip("/").split("/")
        if of.get("x-kubernetes-action") != "list" or "watch" in words or "{namespace}" in words:
            continue
        named = of["x-kubernetes-group-version-kind"]
        if named["kind"] not in KINDS_LEFT_OUT:
            key = "/".join(filter(None, (named["group"], named["version"], named["kind"])))
            found[key] = words[-1]
    spaces = set()
    for path, operations in paths.items():
        of = operations.get("get", {})
        if of.get("x-kubernetes-action") == "list" and "{namespace}" in path:
            named = of["x-kubernetes-group-version-kind"]
            spaces.add("/".join(filter(None, (named["group"], named["version"], named["kind"]))))
    by_name = {}
    for name, of in definitions.items():
        for named in of.get("x-kubernetes-group-version-kind", []):
            key = "/".join(filter(None, (named["group"], named["version"], named["kind"])))
            by_name[key] = name
    stable = lambda key: "alpha" not in key and "beta" not in key
    bare = lambda key: (key.rsplit("/", 2)[0] if key.count("/") == 2 else "", key.rsplit("/", 1)[1])
    newest = {bare(key): key for key in sorted(found, key=lambda key: (stable(key), "beta" in key, key))}
    for key in sorted(found):
        if stable(key) or newest[bare(key)] == key:
            yield key, found[key], key in spaces, by_name[key]


done, todo = {}, list(ROOTS)
rows = []
for key, plural, in_namespaces, name in kinds():
    short = short_name(name)
    todo.append(short)
    rows.append(f"{key} {plural} {'namespaced' if in_namespaces else 'cluster'} {short}")
with open("src/lang/language/fields/kinds.txt", "w") as out:
    out.write("\n".join(rows) + "\n")
while todo:
    name = todo.pop()
    if name in done:
        continue
    of = definitions[full(name)]
    required = set(of.get("required", []))
    is_object = "x-kubernetes-group-version-kind" in of
    done[name] = [
        field + "=" + kind(with_values(full(name), field, schema), todo) + ("" if field in required else "?")
        for field, schema in sorted(of["properties"].items())
        if field not in LEFT_OUT and not (is_object and field in ("apiVersion", "kind"))
    ]
with open("src/lang/language/fields/api.txt", "w") as out:
    for name in sorted(done):
        out.write(name + " " + " ".join(done[name]) + "\n")
