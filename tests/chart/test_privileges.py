# SPDX-License-Identifier: Apache-2.0
"""Nothing has more rights than it needs: pods, roles, tokens, the network."""

import pytest

import value_sets
from rendering import render

USERS = {"runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532}
RESTRICTED = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
              "capabilities": {"drop": ["ALL"]}}


def rendered(values):
    return render(*values.get("values", ()), text=values.get("text", ""))


@pytest.fixture(params=value_sets.VALUE_SETS)
def chart(request):
    return rendered(value_sets.VALUE_SETS[request.param])


def test_the_controller_meets_the_restricted_standard(chart):
    pod = chart.pod("controller")
    users = {} if "scc:privileged" in chart.text else USERS
    assert pod["securityContext"] == {
        **users, "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    for container in pod["containers"]:
        context = dict(container["securityContext"])
        profile = context.pop("seccompProfile", None)
        assert profile is None or (profile["type"], container["name"]) == ("Localhost", "holdfast")
        assert context == RESTRICTED
    assert all({"emptyDir", "secret", "projected"} & volume.keys() for volume in pod["volumes"])
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()


def test_the_controller_can_have_a_seccomp_profile_of_its_own():
    chart = rendered(value_sets.VALUE_SETS["scheduling"])
    [driver, *others] = chart.pod("controller")["containers"]
    assert driver["securityContext"]["seccompProfile"] == {
        "type": "Localhost", "localhostProfile": "holdfast/controller.json"}
    assert not any("seccompProfile" in other["securityContext"] for other in others)


def test_on_the_node_the_driver_alone_is_privileged(chart):
    pod = chart.pod("node")
    allowed = {"hostNetwork"} if "=rbd:" in str(chart.flags("node")) else set()
    assert {"hostNetwork", "hostPID", "hostIPC"} & pod.keys() == allowed
    for container in pod["containers"]:
        wanted = ({"privileged": True, "readOnlyRootFilesystem": True}
                  if container["name"] == "holdfast" else RESTRICTED)
        assert container["securityContext"] == wanted
        assert "Bidirectional" not in str(container) or container["name"] == "holdfast"


def test_every_container_has_requests_and_a_memory_limit(chart):
    for component in ("controller", "node"):
        for container in chart.pod(component)["containers"]:
            assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
            assert "memory" in container["resources"]["limits"]


def test_the_node_has_a_token_for_the_cluster_only_where_it_provisions(chart):
    pod = chart.pod("node")
    assert pod["automountServiceAccountToken"] is False
    holders = [container["name"] for container in pod["containers"]
               if any("kubernetes.io/serviceaccount" in mount["mountPath"]
                      for mount in container["volumeMounts"])]
    provisions = "provisioner" in chart.containers("node")
    assert holders == (["provisioner"] if provisions else [])


def named_by_classes(chart):
    """Returns (namespace, name) of the Secrets for the controller's calls."""
    named = set()
    for kind, calls in (("StorageClass", ["provisioner"]),
                        ("VolumeSnapshotClass", ["snapshotter", "snapshotter-list"])):
        for parameters in (made.get("parameters", {}) for made in chart.all(kind)):
            for prefix in (f"csi.storage.k8s.io/{call}-secret-" for call in calls):
                if f"{prefix}name" in parameters:
                    named.add((parameters[f"{prefix}namespace"], parameters[f"{prefix}name"]))
    return named


def readable(chart):
    """Returns (namespace, name) of the Secrets in roles, which give no more than `get`."""
    found = set()
    for role in chart.all("ClusterRole") + chart.all("Role"):
        for rule in role["rules"]:
            if "secrets" in rule.get("resources", []):
                assert (role["kind"], rule["resources"], rule["verbs"]) == (
                    "Role", ["secrets"], ["get"])
                found |= {(role["metadata"]["namespace"], name) for name in rule["resourceNames"]}
    return found


def test_roles_have_no_wildcards_and_no_secrets_but_those_that_classes_name(chart):
    for role in chart.all("ClusterRole") + chart.all("Role"):
        for rule in role["rules"]:
            assert "*" not in rule["verbs"] + rule.get("resources", []) + rule.get("apiGroups", [])
    assert readable(chart) == named_by_classes(chart)


@pytest.mark.parametrize("values, of_snapshots", [
    (value_sets.SECRETS, set()),
    (value_sets.SNAPSHOTS_WITH_SECRETS, {("holdfast-system", "fast-snapshots")}),
    (value_sets.SNAPSHOTS_WITH_SECRETS.replace("enabled: true", "enabled: false"), set())])
def test_secrets_of_classes_are_for_the_controllers_sidecars_alone(values, of_snapshots):
    chart = render(text=values)
    assert readable(chart) == named_by_classes(chart) == {
        ("holdfast-system", "fast-controller"), ("default", "wide")} | of_snapshots
    bindings = [binding for binding in chart.all("RoleBinding")
                if binding["roleRef"]["name"] == "holdfast-secrets"]
    assert {binding["metadata"]["namespace"] for binding in bindings} == {
        "holdfast-system", "default"}
    for binding in bindings:
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "holdfast-controller",
                                        "namespace": "holdfast-system"}]


def test_leases_are_for_the_sidecars_of_the_controller(chart):
    [role] = [role for role in chart.all("Role") if "leases" in str(role["rules"])]
    assert role["rules"] == [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
                              "verbs": ["get", "create", "update"]}]
    [subject] = chart.one("RoleBinding", role["metadata"]["name"])["subjects"]
    assert subject["name"] == chart.pod("controller")["serviceAccountName"]


def test_the_node_has_no_role_unless_it_provisions():
    bindings = render().all("ClusterRoleBinding") + render().all("RoleBinding")
    assert "holdfast-node" not in [subject["name"] for binding in bindings
                                   for subject in binding["subjects"]]


def test_only_nodes_reach_the_link_and_nobody_the_nodes():
    chart = render()
    [rule] = chart.one("NetworkPolicy", "holdfast-controller")["spec"]["ingress"]
    [source] = rule["from"]
    labels = chart.one("DaemonSet")["spec"]["template"]["metadata"]["labels"]
    assert source == {"podSelector": {"matchLabels": labels}}
    assert rule["ports"] == [{"protocol": "TCP", "port": "link"}]
    closed = chart.one("NetworkPolicy", "holdfast-node")["spec"]
    assert closed["policyTypes"] == ["Ingress"] and "ingress" not in closed


def test_a_pod_in_the_hosts_network_shows_its_health_to_its_host_alone():
    for values in ([], ["node.sidecars=true"]):
        chart = render(*values, text=value_sets.CEPH)
        said = [flag.partition("=")[2] for container in chart.pod("node")["containers"]
                for flag in container["args"] if flag.startswith(("--health-a", "--http-e"))]
        assert said and all(address.startswith("127.0.0.1:98") for address in said)
        probes = [probe for container in chart.pod("node")["containers"]
                  for name, probe in container.items() if name.endswith("Probe")]
        assert {probe["httpGet"]["host"] for probe in probes} == {"127.0.0.1"}


def test_no_policy_claims_what_it_cannot_keep_from_hosts():
    """Selectors of pods do not know pods in their hosts' network."""
    [policy] = render(text=value_sets.CEPH).all("NetworkPolicy")
    assert policy["metadata"]["name"] == "holdfast-controller"
    assert policy["spec"]["ingress"] == [{"ports": [{"protocol": "TCP", "port": "link"}]}]


def test_each_side_has_the_key_of_its_own_ceph_user():
    chart = render(text=value_sets.CEPH)
    for component, other in (("controller", "node"), ("node", "controller")):
        spec = str(chart.pod(component))
        assert f"ceph-{component}" in spec and f"user=holdfast-{component}," in spec
        assert f"ceph-{other}" not in spec and f"user=holdfast-{other}," not in spec
        holders = [container["name"] for container in chart.pod(component)["containers"]
                   if "/etc/holdfast/ceph" in str(container.get("volumeMounts"))]
        assert holders == ["holdfast"]


def test_the_test_pod_meets_the_restricted_standard():
    [pod] = render().all("Pod")
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    assert [container["securityContext"] for container in pod["spec"]["containers"]] == [RESTRICTED]
