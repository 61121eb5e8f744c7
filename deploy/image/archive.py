# SPDX-License-Identifier: Apache-2.0
"""An image archive that containerd, Docker, podman and buildah can load: an OCI image layout with
Docker's manifest.json. The same files result in the same bytes."""

import gzip
import hashlib
import io
import json
import tarfile

LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"


def as_json(value):
    return json.dumps(value, indent=1, sort_keys=True).encode()


def layer(root, epoch):
    """Returns a tar of everything below `root`: sorted, owned by root, all with one timestamp."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(root.rglob("*")):
            entry = tar.gettarinfo(path, str(path.relative_to(root)))
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = "root"
            entry.mtime = epoch
            if entry.isfile():
                with open(path, "rb") as file:
                    tar.addfile(entry, file)
            else:
                tar.addfile(entry)
    return buffer.getvalue()


class Blobs:
    """The content-addressed part of an OCI image layout."""

    def __init__(self):
        self.files = {}

    def add(self, content, media_type):
        digest = hashlib.sha256(content).hexdigest()
        self.files[f"blobs/sha256/{digest}"] = content
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}

    @staticmethod
    def path(descriptor):
        return "blobs/" + descriptor["digest"].replace(":", "/")


def image(root, epoch, name, tag, config):
    """Returns the files of the archive and the digest of the image's manifest."""
    blobs = Blobs()
    content = layer(root, epoch)
    config["rootfs"] = {"type": "layers",
                        "diff_ids": [f"sha256:{hashlib.sha256(content).hexdigest()}"]}
    packed = blobs.add(gzip.compress(content, mtime=0), LAYER_TYPE)
    settings = blobs.add(as_json(config), CONFIG_TYPE)
    manifest = blobs.add(as_json({"schemaVersion": 2, "mediaType": MANIFEST_TYPE,
                                  "config": settings, "layers": [packed]}), MANIFEST_TYPE)
    full_name = f"docker.io/library/{name}:{tag}"
    manifest["annotations"] = {"io.containerd.image.name": full_name,
                               "org.opencontainers.image.ref.name": tag}
    files = {"oci-layout": as_json({"imageLayoutVersion": "1.0.0"}),
             "index.json": as_json({"schemaVersion": 2, "manifests": [manifest]}),
             "manifest.json": as_json([{"Config": blobs.path(settings),
                                        "RepoTags": [f"{name}:{tag}"],
                                        "Layers": [blobs.path(packed)]}])}
    return files | blobs.files, manifest["digest"]


def write(path, files, epoch):
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(files[name]), epoch, 0o644
            tar.addfile(entry, io.BytesIO(files[name]))
