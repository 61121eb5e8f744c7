# SPDX-License-Identifier: Apache-2.0
"""The two Ceph users of an installation, with the caps that docs/ceph.md asks to grant."""

SIDES = ("controller", "node")
# A node's writes: images' headers (watchers, locks), maps, data; the driver's records.
WRITTEN_BY_NODES = ("rbd_header.", "rbd_object_map.", "rbd_data.", "holdfast.volumes.")


def caps(side, pool, namespace=""):
    """Returns (service, cap) pairs of the controller's or the node's user."""
    where = f"pool={pool}" + (f" namespace={namespace}" if namespace else "")
    if side == "controller":
        return (("mon", "profile rbd"), ("osd", f"profile rbd {where}"))
    writes = [f"allow rwx {where} object_prefix {prefix}" for prefix in WRITTEN_BY_NODES]
    return (("mon", "profile rbd"), ("osd", ", ".join([f"profile rbd-read-only {where}", *writes])))
