# SPDX-License-Identifier: Apache-2.0
"""`holdfast doctor`."""

import os
import shutil
import subprocess

import pytest

import command
import pool_disk

KEYS = ["level", "what", "found", "why", "remedy"]
WITHOUT_ADMIN = ("setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin")


class Doctor:
    def __init__(self, directory):
        self.pool = directory / "pool"
        self.pool.mkdir()
        self.socket = directory / "csi.sock"
        self.places = [f"--state-dir={directory}/state", f"--endpoint=unix://{self.socket}"]

    def run(self, code, *arguments, prefix=()):
        """Its findings by subject; the exit code must be `code`."""
        result = command.run("doctor", "--output=json", *self.places, *arguments, prefix=prefix)
        findings = command.parsed(result, code)
        for finding in findings:
            assert list(finding) == KEYS
            assert finding["what"] and finding["found"] and finding["why"]
            assert bool(finding["remedy"]) == (finding["level"] != "ok")
        return {finding["what"]: finding for finding in findings}

    def check_pool(self, code, options=""):
        return self.run(code, f"--pool=default=file:{self.pool}{options}")


@pytest.fixture
def doctor(directory):
    return Doctor(directory)


def missing(findings):
    return [what for what, finding in findings.items() if finding["level"] == "missing"]


def test_a_good_host_and_an_empty_directory(doctor):
    findings = doctor.check_pool(0)
    assert missing(findings) == []
    assert "new pool" in findings["pool 'default', directory"]["found"]
    assert "free" in findings["pool 'default', space"]["found"]
    for what in ("CAP_SYS_ADMIN", "CAP_SYS_RESOURCE", "kernel", "loop devices", "xfs in the kernel",
                 "programs for ext4", "programs for btrfs", "pool 'default', direct I/O"):
        assert what in findings
    assert os.listdir(doctor.pool) == []


def test_the_table_says_the_same(holdfast, doctor):
    result = holdfast("doctor", *doctor.places, f"--pool=default=file:{doctor.pool}/absent")
    assert result.returncode == 1
    assert result.stdout.splitlines()[0].startswith("ok ")
    assert "\nmissing  pool 'default', directory" in result.stdout
    assert f"remedy: mount its disk, or mkdir -p {doctor.pool}/absent" in result.stdout
    assert result.stdout.endswith(" 1 missing\n")


def test_configuration_file(doctor, directory):
    config = directory / "config.yaml"
    config.write_text(f"pools:\n  - name: fast\n    file: {doctor.pool}\n")
    assert "pool 'fast', directory" in doctor.run(0, f"--config={config}")


def test_directory_with_other_things_is_not_touched(doctor):
    (doctor.pool / "precious").write_text("data")
    findings = doctor.check_pool(1)
    assert "'precious'" in findings["pool 'default', directory"]["found"]
    assert os.listdir(doctor.pool) == ["precious"]


def test_pool_of_a_running_instance(doctor, driver):
    findings = doctor.check_pool(0)
    assert findings["pool 'default', directory"]["found"].startswith("pool ")
    socket, = (finding for what, finding in findings.items() if what.startswith("socket "))
    assert "csi.holdfast.dev" in socket["found"]
    assert socket["found"].endswith("is ready")


def test_instance_that_is_not_well(doctor, driver):
    marker = doctor.pool / "holdfast-pool.json"
    hidden = marker.rename(doctor.pool / "hidden")
    lacking = missing(doctor.check_pool(1))
    hidden.rename(marker)
    assert lacking == ["pool 'default', directory", f"socket unix://{driver.server.socket}"]


def test_disk_of_the_pool_is_not_mounted(doctor, driver):
    driver.server.stop()
    other = doctor.pool.rename(doctor.pool.with_name("unmounted"))
    doctor.pool.mkdir()
    findings = doctor.check_pool(1)
    assert "was here before" in findings["pool 'default', directory"]["found"]
    doctor.pool.rmdir()
    other.rename(doctor.pool)
    driver.start()


def test_disk_of_another_pool(doctor, driver, directory):
    driver.server.stop()
    known = directory / "state" / "pools" / "default.json"
    shutil.copy(known, known.with_name("other.json"))
    (doctor.pool / "holdfast-pool.json").rename(directory / "marker")
    for name in ("lock", "volumes", "trash"):
        (doctor.pool / name).rename(directory / f"old-{name}")
    known.unlink()
    driver.start()  # makes a new pool there
    findings = doctor.run(1, f"--pool=other=file:{doctor.pool}")
    assert "the state directory knows pool" in findings["pool 'other', directory"]["found"]


def test_without_the_right_to_mount(doctor):
    findings = doctor.run(1, prefix=WITHOUT_ADMIN)
    assert "CAP_SYS_ADMIN" in missing(findings)
    assert "privileged" in findings["CAP_SYS_ADMIN"]["remedy"]


@pytest.fixture
def without_mkfs_xfs():
    """Hides the program, only in the run's mount namespace."""
    program = shutil.which("mkfs.xfs", path="/usr/sbin:/usr/bin:/sbin:/bin")
    subprocess.run(["mount", "--bind", "/dev/null", program], check=True)
    yield
    subprocess.run(["umount", program], check=True)


def test_missing_program_of_a_filesystem_that_is_not_the_default(doctor, without_mkfs_xfs):
    finding = doctor.check_pool(0)["programs for xfs"]
    assert (finding["level"], finding["found"]) == ("warning", "not installed: mkfs.xfs")
    assert finding["remedy"] == "apt-get install xfsprogs"


def test_missing_program_of_the_default_filesystem(doctor, without_mkfs_xfs):
    assert missing(doctor.check_pool(1, ",fs=xfs")) == ["programs for xfs"]


def test_something_else_in_the_place_of_the_socket(doctor):
    doctor.socket.write_text("")
    assert missing(doctor.run(1)) == [f"socket unix://{doctor.socket}"]


@pytest.mark.parametrize("filesystem, options, level, words", [
    ("xfs", "", "ok", ("by sharing blocks", "sectors of 4096 bytes")),
    ("btrfs", "", "ok", ("by sharing blocks", "sectors of 4096 bytes")),
    ("xfs", ",sectorSize=512", "ok", ("by sharing blocks", "sectors of 512 bytes", "sectorSize",
                                      "lose direct I/O")),
    ("ext4", "", "warning", ("by copying", "maxFreeze", "sectors of 512 bytes")),
    ("ext4", ",sectorSize=4096", "warning", ("by copying", "sectors of 4096 bytes")),
    ("xfs without reflink", "", "warning", ("by copying", "sectors of 512 bytes"))])
def test_snapshots(doctor, directory, filesystem, options, level, words):
    disk = pool_disk.PoolDisk(directory / "disk.img", 512 << 20, filesystem, doctor.pool)
    try:
        finding = doctor.check_pool(0, options)["pool 'default', snapshots"]
    finally:
        disk.remove()
    assert finding["level"] == level
    for word in words:
        assert word in finding["found"]
    assert ("lose direct I/O" in finding["found"]) == ("lose direct I/O" in words)
    assert ("xfs" in finding["remedy"]) == (level == "warning")


def test_space_below_the_reserve(doctor):
    finding = doctor.check_pool(0, ",reserve=1000Ti")["pool 'default', space"]
    assert finding["level"] == "warning"


def test_unknown_filesystem(holdfast, doctor):
    result = holdfast("doctor", *doctor.places, f"--pool=default=file:{doctor.pool},fs=zfs")
    command.refused(result, 2, "zfs")


def test_kubelet_needs_shared_mounts(doctor, kubelet_directory):
    what = f"mounts below {kubelet_directory}"
    assert doctor.run(1)[what]["found"] == "not shared"
    subprocess.run(["mount", "--make-shared", kubelet_directory], check=True)
    assert doctor.run(0)[what]["found"] == "shared"


EVICTION = "pool 'default', eviction"


@pytest.fixture
def watched(kubelet_directory):
    """The directory of a kubelet, as doctor wants to see it."""
    subprocess.run(["mount", "--make-shared", kubelet_directory], check=True)
    return kubelet_directory


def test_a_pool_on_the_disk_that_kubelet_watches(doctor, watched):
    finding = doctor.check_pool(0)[EVICTION]
    assert finding["level"] == "ok"
    assert watched in finding["found"] and "20 %" in finding["found"]
    finding = doctor.check_pool(0, ",reserve=5%")[EVICTION]
    assert finding["level"] == "warning"
    assert "5 %" in finding["found"] and "15 % free" in finding["found"]
    assert doctor.check_pool(0, ",reserve=1000Ti")[EVICTION]["level"] == "ok"


def test_the_thresholds_are_those_that_kubelet_has(doctor, watched):
    with open(f"{watched}/config.yaml", "w", encoding="ascii") as config:
        config.write("evictionHard: {nodefs.available: 25%}\nimageGCHighThresholdPercent: 90\n")
    finding = doctor.check_pool(0)[EVICTION]
    assert finding["level"] == "warning", finding
    assert "25 % free" in finding["found"] and f"{watched}/config.yaml" in finding["found"]
    assert "30 %" in finding["remedy"]


def test_a_pool_on_a_disk_of_its_own(doctor, watched):
    subprocess.run(["mount", "-t", "tmpfs", "own", doctor.pool], check=True)
    try:
        finding = doctor.check_pool(0)[EVICTION]
        assert (finding["level"], "no kubelet" in finding["found"]) == ("ok", True)
        assert "5 %" not in finding["found"] and watched not in finding["found"]
    finally:
        subprocess.run(["umount", doctor.pool], check=True)
