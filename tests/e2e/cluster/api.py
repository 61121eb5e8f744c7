# SPDX-License-Identifier: Apache-2.0
"""A small client of the Kubernetes API: objects are dictionaries, as in a manifest."""

import http.client
import json
import ssl
import urllib.parse

NAMESPACE = "default"
# kind: (path of its group, plural, has a namespace)
KINDS = {
    "ClusterRoleBinding": ("apis/rbac.authorization.k8s.io/v1", "clusterrolebindings", False),
    "CSIDriver": ("apis/storage.k8s.io/v1", "csidrivers", False),
    "CSINode": ("apis/storage.k8s.io/v1", "csinodes", False),
    "CSIStorageCapacity": ("apis/storage.k8s.io/v1", "csistoragecapacities", True),
    "DaemonSet": ("apis/apps/v1", "daemonsets", True),
    "Event": ("api/v1", "events", True),
    "Namespace": ("api/v1", "namespaces", False),
    "Node": ("api/v1", "nodes", False),
    "PersistentVolume": ("api/v1", "persistentvolumes", False),
    "PersistentVolumeClaim": ("api/v1", "persistentvolumeclaims", True),
    "Pod": ("api/v1", "pods", True),
    "Secret": ("api/v1", "secrets", True),
    "Service": ("api/v1", "services", True),
    "ServiceAccount": ("api/v1", "serviceaccounts", True),
    "StatefulSet": ("apis/apps/v1", "statefulsets", True),
    "StorageClass": ("apis/storage.k8s.io/v1", "storageclasses", False),
    "VolumeSnapshot": ("apis/snapshot.storage.k8s.io/v1", "volumesnapshots", True),
    "VolumeSnapshotClass": ("apis/snapshot.storage.k8s.io/v1", "volumesnapshotclasses", False),
    "VolumeSnapshotContent": ("apis/snapshot.storage.k8s.io/v1", "volumesnapshotcontents", False),
    "VolumeGroupSnapshot": ("apis/groupsnapshot.storage.k8s.io/v1", "volumegroupsnapshots", True),
    "VolumeGroupSnapshotContent": ("apis/groupsnapshot.storage.k8s.io/v1",
                                   "volumegroupsnapshotcontents", False),
    "VolumeAttachment": ("apis/storage.k8s.io/v1", "volumeattachments", False),
}
REQUEST_SECONDS = 30
MERGE_PATCH = "application/merge-patch+json"


class ApiError(Exception):
    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    def __init__(self, server, authority):
        self.host = urllib.parse.urlsplit(server).netloc
        self.context = ssl.create_default_context(cafile=str(authority.certificate))
        self.context.load_cert_chain(authority.directory / "admin.crt",
                                     authority.directory / "admin.key")

    def request(self, method, path, body=None, content_type="application/json"):
        """Returns the answer's text; every refusal is an ApiError."""
        connection = http.client.HTTPSConnection(self.host, context=self.context,
                                                 timeout=REQUEST_SECONDS)
        try:
            connection.request(method, f"/{path}", None if body is None else json.dumps(body),
                               {"Content-Type": content_type})
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        finally:
            connection.close()
        if answer.status >= 300:
            raise ApiError(answer.status, text)
        return text

    def is_ready(self):
        try:
            return self.request("GET", "readyz") == "ok"
        except (OSError, ApiError):
            return False

    def create(self, manifest):
        metadata = manifest["metadata"]
        path = collection(manifest["kind"], metadata.get("namespace", NAMESPACE))
        return json.loads(self.request("POST", path, manifest))

    def get(self, kind, name, namespace=NAMESPACE):
        return json.loads(self.request("GET", f"{collection(kind, namespace)}/{name}"))

    def find(self, kind, name, namespace=NAMESPACE):
        """As get(), but None when there is no such object."""
        try:
            return self.get(kind, name, namespace)
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    def list(self, kind, namespace=NAMESPACE, **selectors):
        """Selectors are labelSelector and fieldSelector."""
        path = f"{collection(kind, namespace)}?{urllib.parse.urlencode(selectors)}"
        return json.loads(self.request("GET", path))["items"]

    def patch(self, kind, name, change, namespace=NAMESPACE):
        path = f"{collection(kind, namespace)}/{name}"
        return json.loads(self.request("PATCH", path, change, MERGE_PATCH))

    def delete(self, kind, name, namespace=NAMESPACE, **options):
        """Asks for a deletion; an object that is gone already is as good."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        try:
            self.request("DELETE", f"{collection(kind, namespace)}/{name}", body)
        except ApiError as error:
            if error.status != 404:
                raise

    def logs(self, pod, container, namespace=NAMESPACE, **options):
        query = urllib.parse.urlencode({"container": container, **options})
        return self.request("GET", f"{collection('Pod', namespace)}/{pod}/log?{query}")


def collection(kind, namespace):
    group, plural, namespaced = KINDS[kind]
    if namespaced and namespace:
        return f"{group}/namespaces/{namespace}/{plural}"
    return f"{group}/{plural}"
