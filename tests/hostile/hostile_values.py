# SPDX-License-Identifier: Apache-2.0
"""Hostile values for any field of any message, found by its descriptor; so that a field that is
added to the contract is attacked without anybody thinking of it."""

import dataclasses

from google.protobuf.descriptor import FieldDescriptor as Field

MEBI = 1 << 20
MANY = 5_000
MANY_ENTRIES = 20_000
LIMITS = {Field.CPPTYPE_INT32: 31, Field.CPPTYPE_INT64: 63, Field.CPPTYPE_ENUM: 31}
MAX_DEPTH = 6


def texts(good):
    """Hostile texts by name. `good` is the value of an honest caller, to be altered slightly."""
    bent = {
        "traversal": "../../../../../../etc/shadow",
        "nul": f"{good or 'x'}\0/etc",
        "control": f"{good or 'x'}\x1b]0;owned\x07",
        "mebibyte": "x" * MEBI,
        "wide": "\N{GREEK SMALL LETTER OMEGA}" * 5000,
        "format": "{} {0:9999999} %s%s%n",
        "shell": "$(touch /owned); `touch /owned` | -rf",
        "option": "-o",
        "bidirectional": "\N{RIGHT-TO-LEFT OVERRIDE}drawkcab",
    }
    if good.startswith("/"):
        bent |= {
            "up and down": f"{good}/../{good.rpartition('/')[2]}",
            "climbing": good + "/.." * 40 + "/etc",
            "newline": f"{good}\n",
            "dot": f"{good}/.",
            "doubled slash": f"/{good}",
            "relative": good.lstrip("/"),
            "root": "/",
            "long component": f"{good}/{'y' * 300}",
            "deep": "/d" * 3000,
            "own descriptor": "/proc/self/fd/0",
            "own root": f"/proc/self/root{good}",
        }
    return bent


def numbers(field):
    bits = LIMITS.get(field.cpp_type)
    if bits is None:
        return {}
    top = 1 << bits
    values = {"least": -top, "minus one": -1, "most": top - 1}
    if field.cpp_type == Field.CPPTYPE_ENUM:
        values |= {f"enum {value.name}": value.number for value in field.enum_type.values}
    else:
        values |= {"almost most": top - 2, "not a multiple": top - 4097}
    return values


@dataclasses.dataclass(frozen=True)
class Attack:
    """One hostile value for one field: `apply` modifies a request from `good_request`."""
    fields: tuple  # names from the request down
    label: str
    apply: object

    def __str__(self):
        return f"{'.'.join(self.fields)}: {self.label}"


def is_map(field):
    return (field.type == Field.TYPE_MESSAGE
            and field.message_type.GetOptions().map_entry)


def is_repeated(field):
    return field.label == Field.LABEL_REPEATED


def holder(request, path):
    """The message that has the last field of the path, made on the way where it is missing."""
    message = request
    for field in path[:-1]:
        value = getattr(message, field.name)
        if is_repeated(field):
            message = value[0] if value else value.add()
        else:
            value.SetInParent()
            message = value
    return message


def attacks(message_type, good, path=()):
    """Every attack on every field of requests of a type. `good` maps the names of text fields to
    honest values."""
    found = []
    if len(path) == MAX_DEPTH:
        return found
    for field in message_type.fields:
        here = (*path, field)
        if is_map(field):
            found += map_attacks(here)
        elif field.type == Field.TYPE_MESSAGE:
            found += message_attacks(here) + attacks(field.message_type, good, here)
        elif is_repeated(field):
            found += list_attacks(here)
        else:
            values = numbers(field)
            if field.type == Field.TYPE_STRING:
                values = texts(good.get(field.name, ""))
            elif field.type == Field.TYPE_BYTES:
                values = {"mebibyte": b"\xff" * MEBI}
            found += [attack(here, label, setter(here, value)) for label, value in values.items()]
    return found


def attack(path, label, apply):
    return Attack(tuple(field.name for field in path), label, apply)


def setter(path, value):
    def apply(request):
        setattr(holder(request, path), path[-1].name, value)
    return apply


def change(path, changer):
    """Hands the field itself, a map or a list, to `changer`."""
    def apply(request):
        changer(getattr(holder(request, path), path[-1].name))
    return apply


def map_attacks(path):
    changes = {"many entries": lambda entries: entries.update(
        {f"k{number}": "" for number in range(MANY_ENTRIES)})}
    for label, text in texts("").items():
        changes[f"key {label}"] = lambda entries, text=text: entries.update({text: "x"})
        changes[f"value {label}"] = lambda entries, text=text: entries.update({"k": text})
        for key in ("pool", "provisioning", "mkfsOptions"):  # a StorageClass may set these
            changes[f"{key} {label}"] = lambda entries, key=key, text=text: entries.update(
                {key: text})
    changes["key empty"] = lambda entries: entries.update({"": ""})
    return [attack(path, label, change(path, changer)) for label, changer in changes.items()]


def list_attacks(path):
    """Of texts; the contract has no lists of numbers."""
    changes = {"many": lambda entries: entries.extend(["x"] * MANY_ENTRIES),
               "empty": lambda entries: entries.append("")}
    for label, text in texts("").items():
        changes[label] = lambda entries, text=text: entries.append(text)
    return [attack(path, label, change(path, changer)) for label, changer in changes.items()]


def message_attacks(path):
    if is_repeated(path[-1]):
        def many(entries):
            if not entries:
                entries.add()
            for _ in range(MANY):
                entries.add().CopyFrom(entries[0])
        return [attack(path, "many", change(path, many)),
                attack(path, "one more, empty", change(path, lambda entries: entries.add()))]

    def empty(request):
        message = holder(request, path)
        message.ClearField(path[-1].name)
        getattr(message, path[-1].name).SetInParent()
    return [attack(path, "empty", empty)]
