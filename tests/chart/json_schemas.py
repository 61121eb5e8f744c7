# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of Kubernetes objects, one file a kind as kubeconform reads them, from OpenAPI."""

import json

PREFIX = "#/definitions/"
KIND = "x-kubernetes-group-version-kind"
EITHER = {"oneOf": [{"type": "string"}, {"type": "integer"}]}


def references(value):
    """Returns the names of all definitions that a schema refers to."""
    if isinstance(value, list):
        return {name for item in value for name in references(item)}
    if not isinstance(value, dict):
        return set()
    target = value.get("$ref")  # a property may have that name too
    own = {target.removeprefix(PREFIX)} if isinstance(target, str) else set()
    return own | references(list(value.values()))


def strict(definition):
    """Allows only the fields that there are: a misspelt one is a mistake."""
    if definition.get("format") == "int-or-string":
        return EITHER
    if "properties" in definition:
        return {**definition, "additionalProperties": False}
    return definition


def needed(definitions, name):
    found, waiting = set(), {name}
    while waiting:
        found |= waiting
        waiting = {other for one in waiting for other in references(definitions[one])} - found
    return found


PATTERN = "{{ .Group }}-{{ .ResourceAPIVersion }}-{{ .ResourceKind }}.json"  # for kubeconform


def file_of(group, version, kind):
    return f"{group}-{version}-{kind}.json".lower()


def write(openapi, directory):
    """Writes GROUP-VERSION-KIND.json for every kind; for the core group, VERSION replaces GROUP."""
    definitions = {name: strict(schema) for name, schema in openapi["definitions"].items()}
    directory.mkdir(parents=True, exist_ok=True)
    for name, definition in definitions.items():
        for kind in definition.get(KIND, ()):
            # Request options have the group and version of every API; they are not objects.
            if name.endswith("Options") or name.endswith("WatchEvent"):
                continue
            parts = {part: definitions[part] for part in needed(definitions, name)}
            schema = {"$ref": PREFIX + name, "definitions": parts}
            group = kind["group"] or kind["version"]
            file = file_of(group, kind["version"], kind["kind"])
            (directory / file).write_text(json.dumps(schema))


def write_custom(definition, directory):
    """Writes the same for each version of a CustomResourceDefinition."""
    spec = definition["spec"]
    for version in spec["versions"]:
        file = file_of(spec["group"], version["name"], spec["names"]["kind"])
        schema = strict(version["schema"]["openAPIV3Schema"])
        (directory / file).write_text(json.dumps(schema))
