# SPDX-License-Identifier: Apache-2.0
"""The cluster's certificate authority, its certificates and kubeconfig files."""

import json

from cluster.processes import run

KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
DAYS = 2


class Authority:
    def __init__(self, directory, server):
        self.directory = directory
        self.server = server
        directory.mkdir()
        run("openssl", "req", "-x509", *KEY, "-keyout", directory / "ca.key", "-out",
            self.certificate, "-days", DAYS, "-subj", "/CN=holdfast-e2e")
        run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out",
            self.account_key)

    @property
    def certificate(self):
        return self.directory / "ca.crt"

    @property
    def account_key(self):
        """The key that signs ServiceAccount tokens."""
        return self.directory / "accounts.key"

    def issue(self, file, subject, names=()):
        """Makes FILE.crt and FILE.key; names are given as DNS:… and IP:…."""
        certificate, key = self.directory / f"{file}.crt", self.directory / f"{file}.key"
        request, extensions = self.directory / f"{file}.csr", self.directory / f"{file}.ext"
        extensions.write_text(f"subjectAltName={','.join(names)}\n" if names else "")
        run("openssl", "req", *KEY, "-keyout", key, "-out", request, "-subj", subject)
        run("openssl", "x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey",
            self.directory / "ca.key", "-CAserial", self.directory / f"{file}.srl",
            "-CAcreateserial", "-days", DAYS, "-extfile", extensions, "-out", certificate)
        return certificate, key

    def kubeconfig(self, file, subject):
        """Returns the path of a kubeconfig with its own client certificate."""
        certificate, key = self.issue(file, subject)
        path = self.directory / f"{file}.kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "e2e",
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": file}}],
            "clusters": [{"name": "e2e", "cluster": {
                "server": self.server, "certificate-authority": str(self.certificate)}}],
            "users": [{"name": file, "user": {
                "client-certificate": str(certificate), "client-key": str(key)}}]}))
        return path
