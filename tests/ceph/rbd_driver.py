# SPDX-License-Identifier: Apache-2.0
"""A driver whose pool is in Ceph."""

import json
import pathlib
import time

import csi_client
import driver
import record_text
import serve

POOL = "ceph"  # its name in the driver
KEYS = "0123456789abcdef"


class RbdDriver(driver.Driver):
    def __init__(self, binary, directory, ceph, user, *, location="rbd", monitors=None,
                 keyring=None, node="test-node", role="all", pools=(),
                 flags=(), topology="", options=""):
        self.directory = directory
        self.ceph = ceph
        directory.mkdir(exist_ok=True)
        keyring = keyring or ceph.directory / f"{user}.keyring"
        own = f"{POOL}=rbd:{location},monitors={monitors or ceph.monitors}"
        if user:
            own += f",user={user},keyring={keyring}"
        if topology:
            own += f",topology={topology}"
        own += options
        self.server = serve.Server(binary, directory, [own, *pools], node, role, flags)
        self.client = csi_client.Client(self.server.socket)

    def leftovers(self):
        stages = self.directory / "state" / "stages"
        found = list(stages.iterdir()) if stages.is_dir() else []
        return [f"file left: {path}" for path in found]


def image_of(ceph, volume_id, namespace=""):
    """The name of the volume's image, or of the image's snapshot, which its record chose."""
    uuid = driver.uuid_of(volume_id)
    place = ["--namespace", namespace] if namespace else []
    return value(ceph, place, journal_object(uuid), uuid)["image_name"]


def journal_object(uuid):
    return f"holdfast.volumes.{uuid[0]}"


def journal(ceph, namespace=""):
    """Every key and value of the journal."""
    place = ["--namespace", namespace] if namespace else []
    found = {}
    for name in ceph.rados(*place, "ls").split():
        if name.startswith("holdfast.volumes."):
            for key in ceph.rados(*place, "listomapkeys", name).split():
                try:
                    found[key] = value(ceph, place, name, key)
                except AssertionError:  # removed by a driver meanwhile
                    assert key not in ceph.rados(*place, "listomapkeys", name).split(), key
    return found


def value(ceph, place, name, key):
    path = ceph.directory / "omap-value"
    ceph.rados(*place, "getomapval", name, key, path)
    return json.loads(path.read_text())


def record(ceph, volume_id):
    uuid = driver.uuid_of(volume_id)
    return value(ceph, [], journal_object(uuid), uuid)


def put_record(ceph, uuid, stored):
    """Puts a whole record in the place of the present one, with a right checksum."""
    text = record_text.sealed(dict(stored)).decode()
    ceph.rados("setomapval", journal_object(uuid), uuid, text)


def change_record(ceph, uuid, **changes):
    """Writes other values under a right checksum."""
    path = ceph.directory / "changed"
    ceph.rados("getomapval", journal_object(uuid), uuid, path)
    changed = record_text.with_changes(path.read_text(), **changes)
    ceph.rados("setomapval", journal_object(uuid), uuid, changed.decode())


def retained(ceph, namespace=""):
    """What is kept of deleted volumes and snapshots: images, and snapshots of images."""
    place = ["--namespace", namespace] if namespace else []
    if "holdfast.retained" not in ceph.rados(*place, "ls").split():
        return []
    return ceph.rados(*place, "listomapkeys", "holdfast.retained").split()


def note_retained(ceph, name, ids):
    ceph.rados("setomapval", "holdfast.retained", name, ids)


def snapshots_in(ceph, image):
    """All snapshots of the image by name, also those that librbd would keep without their names."""
    listed = ceph.rbd("snap", "ls", "--all", "--format", "json", f"rbd/{image}")
    return {one["name"]: one for one in json.loads(listed)}


def snapshots_kept(ceph):
    """The snapshots of all images. None is without its name, and each is one of a record or has a
    clone."""
    images = ceph.images()
    parents = [ceph.image_info(image).get("parent") for image in images]
    needed = {f"{parent['image']}@{parent['snapshot']}" for parent in parents if parent}
    needed |= {stored.get("image_name") for stored in journal(ceph).values()}
    kept = []
    for image in images:
        for name, snapshot in snapshots_in(ceph, image).items():
            assert snapshot["namespace"]["type"] == "user", f"{image}: {snapshot}"
            kept.append(f"{image}@{name}")
    assert set(kept) <= needed, f"{set(kept) - needed} are not needed"
    return kept


def put_in_trash(ceph, stored):
    """Puts a whole record into the trash, under the key that it names, with a right checksum."""
    text = record_text.sealed(dict(stored)).decode()
    key = stored["trashed"]["key"]
    ceph.rados("setomapval", journal_object(key), key, text)


def key_of(entry):
    """Of an entry of the trash."""
    return entry.id.rpartition(":")[2]


def nodes_key(volume_id):
    return f"{driver.uuid_of(volume_id)}/nodes"


def holder(node, address, sharing="alone", read_only=None, boot=""):
    return {"node": node, "client_address": address, "sharing": sharing, "boot_id": boot,
            "read_only": sharing == "readers" if read_only is None else read_only}


def nodes(ceph, volume_id):
    """The record of the volume's nodes, or None."""
    return journal(ceph).get(nodes_key(volume_id))


def record_nodes(ceph, volume_id, *holders, **others):
    """As nodes would that have it."""
    text = record_text.sealed({"version": 1, "holders": list(holders), "published": [], **others})
    change_nodes(ceph, volume_id, text.decode())


def change_nodes(ceph, volume_id, text):
    ceph.rados("setomapval", journal_object(driver.uuid_of(volume_id)), nodes_key(volume_id), text)


def unrecord_nodes(ceph, volume_id):
    ceph.rados("rmomapkey", journal_object(driver.uuid_of(volume_id)), nodes_key(volume_id))


def never_made(volume_id):
    """The id of a volume that the same pool could have made, and has not."""
    return f"{volume_id[:-12]}0000{volume_id[-8:]}"


def boot_id():
    return pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def has_all_parts(ceph, volume_id):
    """True for an image as librbd creates it: header, object map, nothing marked as damaged."""
    info = ceph.image_info(image_of(ceph, volume_id))
    objects = ceph.rados("ls").split()
    return info["flags"] == [] and all(f"{part}.{info['id']}" in objects
                                       for part in ("rbd_header", "rbd_object_map"))


def write_data(ceph, image):
    ceph.rbd("bench", "--io-type", "write", "--io-size", "4096", "--io-threads", "1",
             "--io-total", "4096", f"rbd/{image}")


def moment(seconds):
    """So many seconds from now, as records write it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def residue(ceph, namespace=""):
    """Remains of deleted volumes: journal keys, images, and objects of images."""
    place = ["--namespace", namespace] if namespace else []
    objects = [name for name in ceph.rados(*place, "ls").split()
               if name.startswith(("rbd_data.", "rbd_header.", "rbd_id.", "rbd_object_map."))]
    return [*journal(ceph, namespace), *retained(ceph, namespace), *ceph.images(f"rbd/{namespace}" if namespace else "rbd"),
            *objects]
