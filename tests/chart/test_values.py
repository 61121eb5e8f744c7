# SPDX-License-Identifier: Apache-2.0
"""The effect of each value on what is installed."""

import json
import re
import subprocess

import pytest
import yaml

import value_sets
from rendering import CHART, NAMESPACE, render


def mounts(rendered, component, container):
    return {mount["name"]: mount for mount in
            rendered.container(component, container)["volumeMounts"]}


def volumes(rendered, component):
    return {volume["name"]: volume for volume in rendered.pod(component)["volumes"]}


def test_pools_are_flags_and_directories_of_the_host():
    rendered = render(text=value_sets.TWO_POOLS)
    pools = [flag for flag in rendered.flags("node") if flag.startswith("--pool=")]
    assert pools == ["--pool=fast=file:/mnt/nvme,fs=xfs,reserve=10Gi",
                     "--pool=bulk=file:/mnt/disk,overcommit=1.5,watermark=80%,"
                     "keepDeleted=24h,trash=reclaim"]
    # The directory above both: a node without one of the disks serves the other.
    assert {name: volume["hostPath"] for name, volume in volumes(rendered, "node").items()
            if name.startswith("pool-")} == {
        "pool-fast": {"path": "/mnt", "type": "DirectoryOrCreate"}}
    assert mounts(rendered, "node", "holdfast")["pool-fast"] == {
        "name": "pool-fast", "mountPath": "/mnt", "mountPropagation": "HostToContainer"}


@pytest.mark.parametrize("path", ["/data", "/var/lib/disk", "/etc/disk",
                                  "/var/lib/holdfast/disk", "/dev/disk"])
def test_a_directory_above_that_is_not_for_a_pod_is_not_mounted(path):
    rendered = render(text=f"pools: [{{name: default, path: {path}}}]")
    assert volumes(rendered, "node")["pool-default"]["hostPath"] == {
        "path": path, "type": "Directory"}
    assert mounts(rendered, "node", "holdfast")["pool-default"]["mountPath"] == path


def daemon_sets(rendered):
    return {made["metadata"]["name"]: made["spec"]["template"]["spec"]
            for made in rendered.all("DaemonSet")}


def flags_of(pod):
    return [flag for flag in pod["containers"][0]["args"] if flag.startswith("--pool=")]


def excluded(pod):
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = terms["nodeSelectorTerms"]
    return {expression["key"]: expression["values"] for expression in term["matchExpressions"]
            if expression["operator"] == "NotIn"}


def test_groups_of_nodes_have_pools_of_their_own_and_no_node_is_in_two():
    pods = daemon_sets(render(text=value_sets.GROUPS))
    assert sorted(pods) == ["holdfast-node", "holdfast-node-big", "holdfast-node-nvme"]
    assert flags_of(pods["holdfast-node"]) == [
        "--pool=default=file:/var/lib/holdfast/pools/default"]
    assert flags_of(pods["holdfast-node-nvme"]) == ["--pool=default=file:/mnt/nvme",
                                                    "--pool=bulk=file:/mnt/disk"]
    assert pods["holdfast-node"]["nodeSelector"] == {"os": "linux"}
    assert pods["holdfast-node-nvme"]["nodeSelector"] == {"os": "linux", "disk": "nvme"}
    assert "affinity" not in pods["holdfast-node-nvme"]
    assert excluded(pods["holdfast-node-big"]) == {"disk": ["nvme"]}
    assert excluded(pods["holdfast-node"]) == {"disk": ["nvme"], "size": ["big"]}


def test_nodes_of_no_group_have_no_driver_without_pools():
    text = value_sets.GROUPS.replace(
        "  - {name: default, path: /var/lib/holdfast/pools/default, create: true}\n", "")
    assert "pools:\nnodeGroups" in text
    pods = daemon_sets(render(text=text.replace("pools:\nnodeGroups", "pools: []\nnodeGroups", 1)))
    assert sorted(pods) == ["holdfast-node-big", "holdfast-node-nvme"]


def test_pools_in_ceph_are_those_of_all_groups():
    text = value_sets.CEPH + """
nodeGroups:
  - {name: nvme, nodeSelector: {disk: nvme}, pools: [{name: local, path: /mnt/nvme}]}
"""
    pods = daemon_sets(render(text=text))
    in_ceph = [flag for flag in flags_of(pods["holdfast-node"]) if "=rbd:" in flag]
    assert in_ceph
    assert flags_of(pods["holdfast-node-nvme"]) == ["--pool=local=file:/mnt/nvme", *in_ceph]


def test_events_are_optional_and_bring_narrow_rights():
    def rules(rendered):
        return [rule for role in rendered.all("ClusterRole") for rule in role["rules"]
                if rule.get("resources") in (["nodes", "persistentvolumeclaims"], ["events"])
                and rule["verbs"] in (["get"], ["create"])]

    off, on = render(), render("events.enabled=true")
    assert not [flag for flag in off.flags("controller") if "events" in flag] and not rules(off)
    assert "--events-api=https://kubernetes.default.svc" in on.flags("controller")
    assert len(rules(on)) == 2
    assert not [flag for flag in on.flags("node") if "events" in flag]


def test_lost_pools_are_the_controllers_flags():
    assert not [flag for flag in render().flags("controller") if "lost" in flag]
    lost = "6b8f3c1e-5f0a-4b43-9a53-0d5cf6f6a001"
    rendered = render(text=f"lostPools: [{{node: worker-3, pool: default, id: {lost}}}]")
    assert f"--lost-pool=worker-3/default={lost}" in rendered.flags("controller")
    assert not [flag for flag in rendered.flags("node") if "lost" in flag]


def test_nodes_trim_when_they_are_told_to():
    def trims(*values):
        return [flag for flag in render(*values).flags("node") if "trim" in flag]

    assert trims() == []
    assert trims("node.trimInterval=0") == []
    assert trims("node.trimInterval=7d") == ["--trim-interval=7d"]


def test_the_default_pool_is_made():
    rendered = render()
    assert volumes(rendered, "node")["pool-default"]["hostPath"] == {
        "path": "/var/lib/holdfast/pools/default", "type": "DirectoryOrCreate"}


def pools(rendered, component):
    return [flag.removeprefix("--pool=") for flag in rendered.flags(component)
            if flag.startswith("--pool=")]


def test_pools_in_ceph_are_both_sides():
    rendered = render(text=value_sets.CEPH)
    fast = ("fast=rbd:kubernetes/team-a,monitors=10.0.0.1:6789;10.0.0.2:6789,user={},"
            "keyring=/etc/holdfast/ceph/fast/userKey,fs=xfs")
    wide = ("wide=rbd:wide,conf=/etc/holdfast/ceph/wide/ceph.conf,user={},"
            "keyring=/etc/holdfast/ceph/wide/userKey,dataPool=wide.data")
    assert pools(rendered, "controller") == [fast.format("holdfast-controller"),
                                             wide.format("wide-c")]
    assert pools(rendered, "node") == ["default=file:/var/lib/holdfast/pools/default",
                                       fast.format("holdfast-node"), wide.format("wide-n")]


def test_files_of_a_pool_in_ceph_are_where_its_flag_says():
    rendered = render(text=value_sets.CEPH)
    for component, mode in (("controller", 0o440), ("node", 0o400)):
        assert mounts(rendered, component, "holdfast")["ceph-wide"] == {
            "name": "ceph-wide", "mountPath": "/etc/holdfast/ceph/wide", "readOnly": True}
        assert volumes(rendered, component)["ceph-wide"]["projected"] == {
            "defaultMode": mode, "sources": [
                {"secret": {"name": f"wide-{component}",
                            "items": [{"key": "userKey", "path": "userKey"}]}},
                {"configMap": {"name": "ceph",
                               "items": [{"key": "ceph.conf", "path": "ceph.conf"}]}}]}


def test_nodes_with_a_pool_in_ceph_are_in_their_hosts_network_and_find_the_controller():
    pod = render(text=value_sets.CEPH).pod("node")
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert not {"hostNetwork", "dnsPolicy"} & render().pod("node").keys()


def test_volumes_that_every_node_reaches_do_not_wait_for_their_pod():
    modes = {made["metadata"]["name"]: made["volumeBindingMode"]
             for made in render(text=value_sets.CEPH).all("StorageClass")}
    assert modes == {"local": "WaitForFirstConsumer", "fast": "Immediate",
                     "late": "WaitForFirstConsumer"}


def test_nodes_tell_the_labels_of_pools_that_not_all_reach():
    rendered = render(text=value_sets.ZONES)
    container = rendered.container("node", "holdfast")
    fields = {entry["name"]: entry["valueFrom"]["fieldRef"]["fieldPath"]
              for entry in container["env"] if "valueFrom" in entry}
    told = [flag.removeprefix("--topology=").split("=$(") for flag in rendered.flags("node")
            if flag.startswith("--topology=")]
    assert [(key, fields[name.removesuffix(")")]) for key, name in told] == [
        ("example.com/rack", "metadata.labels['example.com/rack']"),
        ("topology.kubernetes.io/zone", "metadata.labels['topology.kubernetes.io/zone']")]
    for component in ("controller", "node"):
        assert [pool.rpartition("topology=")[2] for pool in pools(rendered, component)
                if "=rbd:" in pool] == ["topology.kubernetes.io/zone=zone-a",
                                        "topology.kubernetes.io/zone=zone-b", "example.com/rack=7"]
    others = render(text=value_sets.CEPH)
    assert "topology" not in " ".join(others.flags("node") + others.flags("controller"))
    assert [entry["name"] for entry in others.container("node", "holdfast")["env"]] == [
        "CSI_ENDPOINT", "NODE_NAME"]


def allowed(rendered, name):
    """Returns {key: values} of a class."""
    return {expression["key"]: expression["values"]
            for term in rendered.one("StorageClass", name).get("allowedTopologies", [])
            for expression in term["matchLabelExpressions"]}


def test_classes_allow_where_their_pool_is_reached():
    rendered = render(text=value_sets.ZONES)
    assert {name: allowed(rendered, name) for name in ("local", "a", "b", "racks", "some")} == {
        "local": {}, "a": {"topology.kubernetes.io/zone": ["zone-a"]},
        "b": {"topology.kubernetes.io/zone": ["zone-b"]}, "racks": {"example.com/rack": ["7"]},
        "some": {"example.com/rack": ["1"]}}


def secrets_of(rendered, name):
    """Returns {call: (namespace, name)} of a class."""
    parameters = rendered.one("StorageClass", name).get("parameters", {})
    return {key.removeprefix("csi.storage.k8s.io/").removesuffix("-secret-name"):
            (parameters[key.replace("-name", "-namespace")], value)
            for key, value in parameters.items() if key.endswith("-secret-name")}


def test_classes_bring_the_users_of_their_pool():
    rendered = render(text=value_sets.SECRETS)
    controller, node = (NAMESPACE, "fast-controller"), ("default", "fast-node")
    assert secrets_of(rendered, "fast-team") == {
        "provisioner": controller, "controller-publish": controller,
        "controller-expand": controller, "node-stage": node, "node-publish": node,
        "node-expand": node}
    assert set(secrets_of(rendered, "wide-team").values()) == {("default", "wide")}
    assert secrets_of(rendered, "local") == {}
    fast = rendered.one("StorageClass", "fast-team")
    assert (fast["parameters"]["pool"], fast["volumeBindingMode"]) == ("fast", "Immediate")


def test_a_pool_without_users_has_none_in_its_flag_and_its_files():
    rendered = render(text=value_sets.SECRETS)
    for component, mode in (("controller", 0o440), ("node", 0o400)):
        assert pools(rendered, component)[-2:] == [
            "fast=rbd:kubernetes/team-a,monitors=10.0.0.1:6789,fs=xfs,keepDeleted=24h",
            "wide=rbd:wide,conf=/etc/holdfast/ceph/wide/ceph.conf"]
        assert "ceph-fast" not in mounts(rendered, component, "holdfast")
        assert "ceph-fast" not in volumes(rendered, component)
        assert "ceph-wide" in mounts(rendered, component, "holdfast")
        assert volumes(rendered, component)["ceph-wide"]["projected"] == {
            "defaultMode": mode, "sources": [{"configMap": {
                "name": "ceph", "items": [{"key": "ceph.conf", "path": "ceph.conf"}]}}]}


def test_attaching_is_one_value():
    attaching, plain = render("attachRequired=true"), render()
    assert attaching.one("CSIDriver")["spec"]["attachRequired"] is True
    for component in ("controller", "node"):
        assert "--attach" in attaching.flags(component)
    assert attaching.containers("controller") == ["holdfast", "provisioner", "resizer", "attacher"]
    assert "--attach" not in plain.flags("controller") + plain.flags("node")
    assert "attacher" not in plain.containers("controller")
    assert "volumeattachments" not in plain.text
    [subject] = attaching.one("ClusterRoleBinding", "holdfast-attacher")["subjects"]
    assert subject["name"] == attaching.pod("controller")["serviceAccountName"]
    rights = {rule["resources"][0]: rule["verbs"]
              for rule in attaching.one("ClusterRole", "holdfast-attacher")["rules"]}
    assert rights == {"persistentvolumes": ["get", "list", "watch", "patch"],
                      "csinodes": ["get", "list", "watch"],
                      "volumeattachments": ["get", "list", "watch", "patch"],
                      "volumeattachments/status": ["patch"]}
    watched = [rule for rule in attaching.one("ClusterRole", "holdfast-provisioner")["rules"]
               if rule["resources"] == ["volumeattachments"]]
    assert [rule["verbs"] for rule in watched] == [["get", "list", "watch"]]


def test_another_kubelet_path_is_meant_everywhere():
    rendered = render("kubeletPath=/var/snap/kubelet")
    assert "/var/lib/kubelet" not in rendered.text
    rendered = render("kubeletPath=/var/snap/kubelet")
    assert "/var/lib/kubelet" not in rendered.text
    assert mounts(rendered, "node", "holdfast")["kubelet"] == {
        "name": "kubelet", "mountPath": "/var/snap/kubelet", "mountPropagation": "Bidirectional"}


def test_provisioning_moves_to_the_nodes():
    central, spread = render(), render("provisioning=nodes")
    assert central.containers("controller") == ["holdfast", "provisioner", "resizer"]
    assert "--role=node" in central.flags("node")
    assert spread.containers("controller") == ["holdfast", "resizer"]
    assert spread.containers("node") == ["holdfast", "provisioner"]
    assert "--role=all" in spread.flags("node")
    assert "--node-deployment" in spread.flags("node", "provisioner")
    assert "--node-deployment" not in central.flags("controller", "provisioner")
    bound = spread.one("ClusterRoleBinding", "holdfast-provisioner")["subjects"]
    assert [subject["name"] for subject in bound] == ["holdfast-node"]


def test_of_two_controllers_the_sidecars_of_one_work():
    rendered = render("attachRequired=true", "snapshots.enabled=true", "healthMonitor.enabled=true")
    assert rendered.one("Deployment")["spec"]["replicas"] == 1
    for name in set(rendered.containers("controller")) - {"holdfast"}:
        assert "--leader-election" in rendered.flags("controller", name)
    on_nodes = render("provisioning=nodes")
    assert "--leader-election" not in on_nodes.flags("node", "provisioner")


def test_the_controller_leaves_a_lost_node_sooner_than_other_pods():
    waits = {taint["key"]: taint["tolerationSeconds"]
             for taint in render().pod("controller")["tolerations"]}
    assert waits == {"node.kubernetes.io/unreachable": 30, "node.kubernetes.io/not-ready": 30}


def test_the_driver_registers_itself_unless_told_otherwise_and_answers_for_its_health():
    alone = render()
    assert alone.containers("node") == ["holdfast"]
    assert "--kubelet-registration-dir=/var/lib/kubelet/plugins_registry" in alone.flags("node")
    beside = render("node.sidecars=true")
    assert beside.containers("node") == ["holdfast", "registrar"]
    assert not [flag for flag in beside.flags("node") if flag.startswith("--kubelet")]
    # A driver that waits for a disk is alive, as far as kubelet is to know.
    for rendered in (alone, beside):
        assert "--health-address=:9808" in rendered.flags("node")
        driver = rendered.container("node", "holdfast")
        assert driver["livenessProbe"]["httpGet"]["path"] == "/healthz"
        assert driver["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_the_node_shows_a_token_that_the_controller_asks_for():
    rendered = render(release="depot")
    [source] = volumes(rendered, "node")["token"]["projected"]["sources"]
    token, controller = source["serviceAccountToken"], rendered.flags("controller")
    assert f"--link-token-audience={token['audience']}" in controller
    account = rendered.pod("node")["serviceAccountName"]
    assert (f"--link-token-subject=system:serviceaccount:holdfast-system:{account}"
            in controller)
    assert rendered.one("ServiceAccount", account)
    where = mounts(rendered, "node", "holdfast")["token"]["mountPath"]
    assert f"--link-token={where}/{token['path']}" in rendered.flags("node")


def test_nodes_dial_the_service_of_the_controller():
    rendered = render("link.port=9999", release="depot")
    service = rendered.one("Service")
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert [port["port"] for port in service["spec"]["ports"]] == [9999]
    labels = rendered.one("Deployment")["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    host = f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"
    assert f"--link-controller={host}:9999" in rendered.flags("node")
    assert "--link-listen=:9999" in rendered.flags("controller")


def test_storage_classes_are_as_given():
    given = yaml.safe_load(value_sets.TWO_POOLS)["storageClasses"][0]
    made = render(text=value_sets.TWO_POOLS).one("StorageClass")
    assert made["metadata"]["annotations"] == {
        "storageclass.kubernetes.io/is-default-class": "true"}
    assert made["provisioner"] == "csi.holdfast.dev"
    for field in ("reclaimPolicy", "volumeBindingMode", "allowVolumeExpansion", "mountOptions",
                  "parameters", "allowedTopologies"):
        assert made[field] == given[field]


def test_classes_wait_for_their_pod_and_can_grow_unless_told_otherwise():
    for made in render().all("StorageClass"):
        assert made["volumeBindingMode"] == "WaitForFirstConsumer"
        assert made["allowVolumeExpansion"] is True


def test_the_driver_is_told_to_the_cluster():
    spec = render().one("CSIDriver", "csi.holdfast.dev")["spec"]
    assert spec == {"attachRequired": False, "podInfoOnMount": True, "requiresRepublish": False,
                    "storageCapacity": True, "fsGroupPolicy": "File", "seLinuxMount": False,
                    "volumeLifecycleModes": ["Persistent"]}
    assert render("seLinuxMount=true").one("CSIDriver")["spec"]["seLinuxMount"] is True


def test_the_driver_has_the_hosts_devices_and_their_settings():
    rendered = render()
    for name, path in (("devices", "/dev"), ("sys", "/sys")):
        assert volumes(rendered, "node")[name]["hostPath"] == {"path": path, "type": "Directory"}
        assert mounts(rendered, "node", "holdfast")[name] == {"name": name, "mountPath": path}


def test_another_driver_name_is_meant_everywhere():
    rendered = render("driverName=disks.example.com")
    assert "csi.holdfast.dev" not in rendered.text
    assert "--driver-name=disks.example.com" in rendered.flags("controller")


def test_scheduling_is_as_given():
    rendered = render(text=value_sets.SCHEDULING)
    given = yaml.safe_load(value_sets.SCHEDULING)
    for component in ("controller", "node"):
        pod = rendered.pod(component)
        for field in ("nodeSelector", "tolerations", "affinity"):
            assert pod.get(field, []) == given[component][field]
        assert pod["imagePullSecrets"] == [{"name": "registry"}]
    assert rendered.pod("controller")["priorityClassName"] == "important"
    assert rendered.pod("controller")["topologySpreadConstraints"] == [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]
    assert rendered.one("DaemonSet")["spec"]["updateStrategy"] == {"type": "OnDelete"}
    assert "--max-volumes=100" in rendered.flags("node")


def test_a_chart_of_another_version_does_not_restart_the_pods():
    for kind in ("Deployment", "DaemonSet"):
        labels = render().one(kind)["spec"]["template"]["metadata"]["labels"]
        assert not {"helm.sh/chart", "app.kubernetes.io/version"} & labels.keys()


def test_every_value_is_explained_and_in_the_schema():
    text = (CHART / "values.yaml").read_text()
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert set(yaml.safe_load(text)) == set(schema["properties"]) - {"global"}
    paragraphs = text.split("\n\n")[1:]
    explained_by_name = {"image", "provisioner", "resizer"}
    assert {paragraph.split(":")[0] for paragraph in paragraphs
            if not paragraph.startswith("#")} == explained_by_name


def test_versions_are_the_projects():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    cmake = (CHART.parents[1] / "CMakeLists.txt").read_text()
    version = re.search(r"project\(holdfast VERSION (\S+)", cmake)[1]
    assert chart["version"] == chart["appVersion"] == version
    assert render().container("node", "holdfast")["image"] == f"holdfast:{version}"


def test_the_table_of_the_values_is_in_step():
    checked = subprocess.run([CHART.parents[1] / "scripts/chart-values", "--check"],
                             capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
