# SPDX-License-Identifier: Apache-2.0
"""The driver's permissions: what it needs works, and everything else is refused."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import content
import csi_client
import driver as driver_module
from driver_fixtures import binary
from kubelet import Kubelet, PersistentVolume

SUITE = pathlib.Path(__file__).resolve().parent
REPOSITORY = SUITE.parents[1]
CONFINED = SUITE / "confined"
UNIT = REPOSITORY / "deploy" / "systemd" / "holdfast.service"
# The additional permissions of a node with a pool in Ceph, beyond the unit and the node's profile.
RBD_UNIT = UNIT.parent / "rbd.conf"
RBD_CALLS = {"add_key", "keyctl"}
PROFILES = REPOSITORY / "deploy" / "seccomp"
EXPOSURE = 4.1  # out of 10, by systemd; mounts that other processes must see need it
RBD_EXPOSURE = 4.6  # the network, and its addresses

# Calls that change the host or other processes, and that no volume needs. Kernels without a call
# refuse it too.
DANGEROUS = """acct add_key adjtimex bpf chroot clock_adjtime clock_settime delete_module finit_module
init_module io_uring_setup kcmp kexec_file_load kexec_load keyctl lookup_dcookie mbind move_pages
name_to_handle_at nfsservctl open_by_handle_at perf_event_open personality pivot_root
process_vm_readv process_vm_writev ptrace quotactl reboot request_key setdomainname sethostname
setns settimeofday swapoff swapon syslog unshare userfaultfd vhangup setuid setgid setresuid
setresgid setgroups""".split()


def capabilities_of_names(names):
    known = pathlib.Path("/usr/include/linux/capability.h").read_text()
    bits = dict(re.findall(r"#define (CAP_\w+)\s+(\d+)", known))
    return sum(1 << int(bits[name]) for name in names)


def unit_settings(key, files=(UNIT,)):
    return [line.partition("=")[2] for file in files for line in file.read_text().splitlines()
            if line.startswith(f"{key}=")]


def status(path):
    return dict(line.split(":\t", 1) for line in (path / "status").read_text().splitlines())


def own_bounding_set():
    return int(status(pathlib.Path("/proc/self"))["CapBnd"], 16)


def needed():
    [names] = unit_settings("CapabilityBoundingSet")
    return capabilities_of_names(names.split()) & own_bounding_set()


def test_every_thread_has_given_up_what_is_not_needed(driver):
    threads = list(pathlib.Path(f"/proc/{driver.server.process.pid}/task").iterdir())
    assert len(threads) > 1
    for thread in threads:
        facts = status(thread)
        for kind in ("CapPrm", "CapEff"):
            assert int(facts[kind], 16) == needed(), f"{kind} {facts[kind]} of {facts['Name']}"
        assert int(facts["CapInh"], 16) == int(facts["CapAmb"], 16) == 0
        assert facts["NoNewPrivs"] == "1"


def test_programs_that_it_starts_have_no_more(driver, kubelet, program_gate):
    volume = PersistentVolume(driver.create("pv").volume_id, "pv", filesystem="ext4")
    mkfs = program_gate("mkfs.ext4")
    kubelet.global_mount(volume).mkdir(parents=True)
    with pytest.raises(csi_client.grpc.RpcError):
        driver.call("NodeStageVolume", timeout=1, volume_id=volume.handle,
                    staging_target_path=str(kubelet.global_mount(volume)),
                    volume_capability=volume.capability())
    mkfs.wait_until_started()
    [pid] = mkfs.pids()
    facts = status(pathlib.Path(f"/proc/{pid}"))
    mkfs.let_through()
    for kind in ("CapPrm", "CapEff"):
        assert int(facts[kind], 16) == needed()
    assert facts["NoNewPrivs"] == "1"
    until_staged(kubelet, volume)
    kubelet.unstage(volume)


def until_staged(kubelet, volume):
    for _ in range(1000):
        try:
            return kubelet.stage(volume)
        except csi_client.grpc.RpcError as error:
            assert csi_client.code_of(error) == "ABORTED", error
    raise AssertionError("the stage does not end")


def test_documents_and_unit_name_the_same_capabilities():
    """docs/security.md says why each; its table and the unit must not drift apart."""
    [names] = unit_settings("CapabilityBoundingSet")
    table = re.findall(r"^\| (`CAP_[^|]*`) \|", (REPOSITORY / "docs" / "security.md").read_text(),
                       re.MULTILINE)
    assert set(re.findall(r"CAP_\w+", " ".join(table))) == set(names.split())


# ---- system calls


def allowed_by(profile):
    found = json.loads((PROFILES / f"{profile}.json").read_text())
    assert found["defaultAction"] == "SCMP_ACT_ERRNO"
    return {name for rule in found["syscalls"] for name in rule["names"]}


@pytest.fixture
def confined_driver(directory, monkeypatch):
    """Under the node's profile. The binary is the one under test."""
    monkeypatch.setenv("HOLDFAST_CONFINED", str(binary()))
    driver = driver_module.Driver(CONFINED, directory).start()
    yield driver
    assert driver.server.stop() is None, driver.log()
    assert not driver.leftovers()


@pytest.mark.parametrize("kind", ["ext4", "ext3", "xfs", "btrfs", "block"])
@pytest.mark.parametrize("provisioning", ["thin", "thick"])
def test_a_whole_life_under_the_profile(confined_driver, directory, kind, provisioning):
    driver = confined_driver
    kubelet = Kubelet(directory / "kubelet", driver.call)
    access = "block" if kind == "block" else "mount"
    filesystem = "" if kind == "block" else kind
    volume = PersistentVolume(
        driver.create("pv", access=access, filesystem=filesystem or "ext4",
                      provisioning=provisioning).volume_id, "pv", access, filesystem)
    path = kubelet.start_pod(volume, "pod")
    data = path if access == "block" else path / "data"
    written = content.write(data, 1 << 20)
    size = driver_module.SIZES[kind] + (64 << 20)
    driver.call("ControllerExpandVolume", volume_id=volume.handle,
                capacity_range=csi_client.at_least(size))
    if kind not in ("ext4", "ext3"):  # these grow at the next stage at the latest
        kubelet.expand(volume, path, size)
    driver.call("NodeGetVolumeStats", volume_id=volume.handle, volume_path=str(
        kubelet.device_path(volume, "pod") if access == "block" else path))
    kubelet.end_pod(volume, "pod")
    driver.crash()
    path = kubelet.start_pod(volume, "pod")
    assert content.checksum(path if access == "block" else path / "data", 1 << 20) == written
    kubelet.end_pod(volume, "pod")
    driver.delete(volume.handle)


def seccomp_mode(pid):
    return status(pathlib.Path(f"/proc/{pid}"))["Seccomp"]


def test_the_profile_is_in_force(confined_driver):
    assert seccomp_mode(confined_driver.server.process.pid) == "2"


PROBE = """
import ctypes, json, sys
import importlib.machinery, importlib.util
loader = importlib.machinery.SourceFileLoader("confined", sys.argv[1] + "/confined")
confined = importlib.util.module_from_spec(importlib.util.spec_from_loader("confined", loader))
loader.exec_module(confined)
numbers = {name: confined.number_of(name) for name in sys.argv[3:]}
profile = json.loads((confined.PROFILES / (sys.argv[2] + ".json")).read_text())
confined.filter_of(profile).load()
libc = ctypes.CDLL(None, use_errno=True)
answers = {}
for name, number in numbers.items():
    if number < 0:
        continue
    ctypes.set_errno(0)
    # Arguments that no kernel would accept, should the filter not be there.
    result = libc.syscall(number, -1, -1, -1, -1, -1, -1)
    answers[name] = (result, ctypes.get_errno())
print(json.dumps(answers))
"""


@pytest.mark.parametrize("profile", ["node", "controller"])
def test_what_nobody_needs_is_refused(profile):
    names = DANGEROUS + (["mount", "umount2", "open_tree", "move_mount", "mknodat"]
                         if profile == "controller" else [])
    assert not allowed_by(profile) & set(names)
    said = subprocess.run(["/usr/bin/python3", "-B", "-c", PROBE, SUITE, profile, *names],
                          capture_output=True, text=True, check=True)
    answers = json.loads(said.stdout)
    assert len(answers) > 30
    wrong = {name: answer for name, answer in answers.items() if answer != [-1, 1]}  # EPERM
    assert not wrong


@pytest.mark.parametrize("profile, files, more", [
    ("node", (UNIT,), set()), ("node-rbd", (UNIT, RBD_UNIT), RBD_CALLS)], ids=["node", "node-rbd"])
def test_the_unit_allows_what_the_profile_allows(profile, files, more):
    """Tests run under the profile, hosts under the unit, whose groups are systemd's."""
    allowed = set()
    for line in unit_settings("SystemCallFilter", files):
        named = set().union(*map(members, line.removeprefix("~").split()))
        allowed = allowed - named if line.startswith("~") else allowed | named
    assert not allowed_by(profile) - allowed
    assert allowed & set(DANGEROUS) == more


def test_a_node_with_a_pool_in_ceph_may_give_keys_to_the_kernel_and_no_more():
    """tests/ceph/guest runs the driver under this profile."""
    assert allowed_by("node-rbd") == allowed_by("node") | RBD_CALLS


def members(group):
    """The system calls of one of systemd's groups, or the one call of that name."""
    if not group.startswith("@"):
        return {group}
    said = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", group],
                          capture_output=True, text=True, check=True).stdout
    words = [line.strip() for line in said.splitlines()[1:]]
    names = {word for word in words if word and not word.startswith(("#", "@"))}
    return names.union(*(members(word) for word in words if word.startswith("@")))


@pytest.mark.parametrize("more, exposure", [([], EXPOSURE), ([RBD_UNIT], RBD_EXPOSURE)],
                         ids=["node", "node-rbd"])
def test_the_unit_is_as_closed_as_mounts_allow(tmp_path, more, exposure):
    unit, additions = tmp_path / UNIT.name, tmp_path / f"{UNIT.name}.d"
    shutil.copy(UNIT, unit)
    additions.mkdir()
    for file in more:
        shutil.copy(file, additions)
    said = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager",
                           f"--threshold={int(exposure * 10)}", str(unit)],
                          capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout[-3000:] + said.stderr
    assert f"{exposure}" in said.stdout.splitlines()[-1], "the additions are read"
