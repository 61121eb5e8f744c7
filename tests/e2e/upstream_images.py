# SPDX-License-Identifier: Apache-2.0
"""The images that Kubernetes' own test suite asks for, under the names it asks for."""

from cluster import images

AGNHOST = "registry.k8s.io/e2e-test-images/agnhost:2.63.0"
# Only the shell of these is used.
SHELLS = ("registry.k8s.io/e2e-test-images/nginx:1.15-4",
          "registry.k8s.io/e2e-test-images/glibc-dns-testing:2.0.0")


def write_all(directory, tools):
    directory.mkdir()
    agnhost = images.busybox_layer()
    agnhost.add("agnhost", (tools / "agnhost").read_bytes())
    return [
        images.write(directory / "agnhost.tar", [AGNHOST], agnhost, ["/agnhost"], ["pause"]),
        images.write(directory / "shells.tar", SHELLS, images.busybox_layer(), [], ["sh"])]
