# SPDX-License-Identifier: Apache-2.0
"""The images that Kubernetes' own test suite asks for, under the names it asks for."""

import pathlib

from cluster import images
from cluster.processes import run

AGNHOST = "registry.k8s.io/e2e-test-images/agnhost:2.63.0"
# Of these a shell is used, and a dd that knows oflag=nocache. Busybox' dd does not, and its shell
# prefers its own dd.
SHELLS = ("registry.k8s.io/e2e-test-images/nginx:1.15-4",
          "registry.k8s.io/e2e-test-images/glibc-dns-testing:2.0.0")
PROGRAMS = {"sh": "/bin/dash", "dd": "/bin/dd"}


def shell_layer():
    """Busybox, but with the machine's own shell and dd and the libraries that these need."""
    layer = images.busybox_layer(leave_out=PROGRAMS)
    libraries = set()
    for name, program in PROGRAMS.items():
        layer.add(f"bin/{name}", pathlib.Path(program).read_bytes())
        libraries |= {word for word in run("ldd", program).split() if word.startswith("/")}
    for library in sorted(libraries):
        layer.add(library.lstrip("/"), pathlib.Path(library).read_bytes())
    return layer


def write_all(directory, tools):
    directory.mkdir()
    agnhost = images.busybox_layer()
    agnhost.add("agnhost", (tools / "agnhost").read_bytes())
    return [
        images.write(directory / "agnhost.tar", [AGNHOST], agnhost, ["/agnhost"], ["pause"]),
        images.write(directory / "shells.tar", SHELLS, shell_layer(), [], ["sh"])]
