# SPDX-License-Identifier: Apache-2.0
"""Every way to falsify one field of a message, found by reflection."""

from google.protobuf.descriptor import FieldDescriptor as Field

LONG = "\x1b]0;x\x07\n\u009b31m\u202e" + "Ω" * 100_000
INTEGERS = (Field.TYPE_INT32, Field.TYPE_INT64, Field.TYPE_UINT32, Field.TYPE_UINT64)


def values(field, strings):
    if field.type in (Field.TYPE_INT64, Field.TYPE_UINT64):
        return [0, 1, *([-1, -1 << 63] if field.type == Field.TYPE_INT64 else []), (1 << 63) - 1]
    if field.type in (Field.TYPE_INT32, Field.TYPE_UINT32):
        return [0, 1, *([-1, -1 << 31] if field.type == Field.TYPE_INT32 else []), (1 << 31) - 1]
    if field.type == Field.TYPE_BOOL:
        return [False, True]
    if field.type == Field.TYPE_ENUM:
        return [0, 5, 99]
    if field.type == Field.TYPE_STRING:
        return ["", "nonsense", "../../etc", LONG, *strings]
    if field.type == Field.TYPE_BYTES:
        return [b"", b"\xff" * 1000]
    raise AssertionError(f"no falsehoods for {field.full_name}")


def is_map(field):
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def falsify(message, strings, path=""):
    """Yields (name, copy of the message with that field changed), for every field at any depth."""
    for field in message.DESCRIPTOR.fields:
        here = f"{path}.{field.name}"
        for what, change in changes(message, field, strings):
            copy = type(message)()
            copy.CopyFrom(message)
            change(copy)
            yield f"{here} {what}", copy


def changes(message, field, strings):
    name = field.name
    repeated = field.label == Field.LABEL_REPEATED
    yield "is left out", lambda copy: copy.ClearField(name)
    if is_map(field):
        yield "says more", lambda copy: getattr(copy, name).update(
            {"storage.kubernetes.io/csiProvisionerIdentity": "x", LONG[:200]: LONG[:3000]})
        return
    if field.message_type is None:
        for value in values(field, strings):
            if repeated:
                yield f"also has {value!r:.60}", lambda copy, value=value: getattr(
                    copy, name).append(value)
            else:
                yield f"is {value!r:.60}", lambda copy, value=value: setattr(copy, name, value)
        return
    if repeated:
        yield "is doubled", lambda copy: getattr(copy, name).extend(list(getattr(message, name)))
        yield "has an empty one", lambda copy: getattr(copy, name).add()
        yield "has thousands", lambda copy: [getattr(copy, name).add() for _ in range(3000)]
        for index, part in enumerate(getattr(message, name)):
            for what, other in falsify(part, strings, f"[{index}]"):
                yield what, lambda copy, other=other, index=index: getattr(
                    copy, name)[index].CopyFrom(other)
        return
    yield "is empty", lambda copy: (copy.ClearField(name), getattr(copy, name).SetInParent())
    # Also fields within submessages that the honest message lacks; sources of volumes can be
    # nested.
    if not path_is_deep(field):
        for what, other in falsify(getattr(message, name), strings):
            yield what, lambda copy, other=other: getattr(copy, name).CopyFrom(other)


def path_is_deep(field):
    return field.message_type.name in ("VolumeContentSource",)
