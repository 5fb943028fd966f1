#!/usr/bin/env python3
"""Writes src/lang/language/fields/api.txt from Kubernetes' OpenAPI description.

Run as `tools/api-schema.py "$(go list -m -f '{{.Dir}}' k8s.io/kubernetes)/api/openapi-spec/swagger.json"` in a
module that requires k8s.io/kubernetes. One line a structure: its name and its fields; `s` text, `i` int, `I` int of
32 bits, `b` truth, `f` float, `t` time, `d` anything, `[T]` list, `{T}` map from texts; `?` follows what may be missing.
"""
import json
import sys

definitions = json.load(open(sys.argv[1]))["definitions"]
ROOTS = ["PodSpec", "PodStatus", "NodeSpec", "NodeStatus", "NamespaceSpec", "NamespaceStatus", "ObjectMeta"]
LEFT_OUT = {"managedFields"}


def full(name):
    core, meta = "io.k8s.api.core.v1." + name, "io.k8s.apimachinery.pkg.apis.meta.v1." + name
    return core if core in definitions else meta


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
        short = name.split(".")[-1]
        todo.append(short)
        return short
    match schema.get("type"):
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


done, todo = {}, list(ROOTS)
while todo:
    name = todo.pop()
    if name in done:
        continue
    of = definitions[full(name)]
    required = set(of.get("required", []))
    done[name] = [
        field + "=" + kind(schema, todo) + ("" if field in required else "?")
        for field, schema in sorted(of["properties"].items())
        if field not in LEFT_OUT
    ]
with open("src/lang/language/fields/api.txt", "w") as out:
    for name in sorted(done):
        out.write(name + " " + " ".join(done[name]) + "\n")
