# SPDX-License-Identifier: Apache-2.0
"""A cluster that signs ServiceAccount tokens (JWT, RS256) and publishes its keys."""

import base64
import json
import subprocess
import time

AUDIENCE = "holdfast-link"
SUBJECT = "system:serviceaccount:holdfast-system:holdfast-node"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """A signing key in its own directory; `keys` is the file of published keys."""

    def __init__(self, directory, key_id="first"):
        directory.mkdir(parents=True, exist_ok=True)
        self.key_id = key_id
        self.key = directory / f"{key_id}.pem"
        self.keys = directory / "keys.json"
        subprocess.run(["openssl", "genrsa", "-out", self.key, "2048"], check=True,
                       capture_output=True)

    def published(self):
        modulus = subprocess.run(["openssl", "rsa", "-in", self.key, "-noout", "-modulus"],
                                 check=True, capture_output=True, text=True).stdout
        number = bytes.fromhex(modulus.strip().partition("=")[2])
        return {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": self.key_id,
                "n": base64url(number), "e": "AQAB"}

    def publish(self, *others):
        fresh = self.keys.with_suffix(".new")
        fresh.write_text(json.dumps({"keys": [self.published(), *others]}))
        fresh.rename(self.keys)

    def token(self, node, **claims):
        now = int(time.time())
        content = {"aud": [AUDIENCE], "sub": SUBJECT, "iat": now, "nbf": now, "exp": now + 3600,
                   "kubernetes.io": {"node": {"name": node},
                                     "pod": {"name": "holdfast-node-x", "uid": "0a1b"}}, **claims}
        parts = [base64url(json.dumps(part).encode()) for part in
                 ({"alg": "RS256", "kid": self.key_id}, content)]
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], check=True,
                                   input=".".join(parts).encode(), capture_output=True).stdout
        return ".".join([*parts, base64url(signature)])
