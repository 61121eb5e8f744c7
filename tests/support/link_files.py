# SPDX-License-Identifier: Apache-2.0
"""What both ends of a link need before they start: certificates and a port."""

import socket
import subprocess

KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


class Authority:
    """A certificate authority in its own directory."""

    def __init__(self, directory, name="link-ca"):
        self.directory = directory
        directory.mkdir(parents=True)
        openssl("req", "-x509", *KEY, "-keyout", directory / "ca.key", "-out", self.certificate,
                "-days", 2, "-subj", f"/CN={name}")

    @property
    def certificate(self):
        return self.directory / "ca.crt"

    def issue(self, name, into, days=2, trust=None):
        """Writes tls.crt, tls.key and ca.crt for `name` into the directory, as a Secret has them."""
        into.mkdir(parents=True, exist_ok=True)
        request = self.directory / f"{name}.csr"
        extensions = self.directory / f"{name}.ext"
        extensions.write_text(f"subjectAltName=DNS:{name},DNS:localhost\n")
        openssl("req", *KEY, "-keyout", into / "tls.key.new", "-out", request, "-subj",
                f"/CN={name}")
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey",
                self.directory / "ca.key", "-CAcreateserial", "-days", days, "-extfile", extensions,
                "-out", into / "tls.crt.new")
        (into / "ca.crt.new").write_text((trust or self.certificate).read_text())
        for file in ("tls.key", "tls.crt", "ca.crt"):
            (into / f"{file}.new").rename(into / file)
        return into


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
