# SPDX-License-Identifier: Apache-2.0
"""Container images without a registry: docker-archive tars of single programs."""

import hashlib
import io
import json
import pathlib
import subprocess
import tarfile

BUSYBOX = "registry.k8s.io/e2e-test-images/busybox:1.37.0-1"
PAUSE = "registry.k8s.io/pause:3.10.2"

PASSWD = b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"


class Layer:
    def __init__(self):
        self.buffer = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.buffer, mode="w")

    def add(self, path, content=None, kind=tarfile.REGTYPE, mode=0o755, target=""):
        entry = tarfile.TarInfo(path)
        entry.type, entry.mode, entry.linkname = kind, mode, target
        entry.size = len(content or b"")
        self.tar.addfile(entry, io.BytesIO(content or b""))

    def bytes(self):
        self.tar.close()
        return self.buffer.getvalue()


def program_layer(path, program):
    layer = Layer()
    layer.add("tmp", kind=tarfile.DIRTYPE, mode=0o1777)
    layer.add(path, pathlib.Path(program).read_bytes())
    return layer


def busybox_layer(leave_out=()):
    layer = program_layer("bin/busybox", "/bin/busybox")
    applets = subprocess.run(["/bin/busybox", "--list"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout.split()
    for applet in applets:
        if applet != "busybox" and applet not in leave_out:
            layer.add(f"bin/{applet}", kind=tarfile.SYMTYPE, target="busybox")
    layer.add("etc/passwd", PASSWD, mode=0o644)
    return layer


def write(archive, names, layer, entrypoint, command=()):
    """Writes one image that can be imported under any of its names."""
    content = layer.bytes()
    digest = hashlib.sha256(content).hexdigest()
    config = json.dumps({
        "architecture": "amd64", "os": "linux", "rootfs": {"type": "layers",
                                                           "diff_ids": [f"sha256:{digest}"]},
        "config": {"Entrypoint": list(entrypoint), "Cmd": list(command),
                   "Env": ["PATH=/bin:/usr/bin:/sbin:/usr/sbin"]}}).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": list(names),
                            "Layers": [f"{digest}.tar"]}]).encode()
    outer = Layer()
    for name, part in ((f"{digest}.tar", content), (config_name, config),
                       ("manifest.json", manifest)):
        outer.add(name, part, mode=0o644)
    archive.write_bytes(outer.bytes())
    return archive


def write_all(directory, tools, sidecars):
    """Writes the images that every node has, and returns their archives."""
    directory.mkdir()
    return [
        write(directory / "pause.tar", [PAUSE], program_layer("pause", tools / "pause"),
              ["/pause"]),
        write(directory / "busybox.tar", [BUSYBOX], busybox_layer(), [], ["sh"]),
        *(write(directory / f"{name}.tar", [image], program_layer(name, sidecars.program(name)),
                [f"/{name}"])
          for name, image in sidecars.images().items())]
