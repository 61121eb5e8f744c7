# SPDX-License-Identifier: Apache-2.0
"""The image: the same bytes each time, exactly the programs that the driver runs, and a correct
description of itself."""

import hashlib
import json
import os
import pathlib
import stat
import subprocess
import tarfile

import pytest

import mount_namespace
from go_tools import REPOSITORY

PROGRAMS = (("holdfast", "--version"), ("mkfs.ext4", "-V"), ("mkfs.ext3", "-V"), ("e2fsck", "-V"),
            ("resize2fs",), ("e2undo",), ("mkfs.xfs", "-V"), ("xfs_repair", "-V"),
            ("mkfs.btrfs", "--version"), ("btrfs", "--version"))
pytestmark = pytest.mark.skipif(bool(mount_namespace.what_the_host_lacks()),
                                reason=str(mount_namespace.what_the_host_lacks()))
TIME = "1700000000"
INSIDE = ("unshare", "--mount", "--pid", "--fork", "--mount-proc")
MOST_BYTES = 64 << 20  # of the files; more means that something unwanted was added


def build(directory):
    subprocess.run([REPOSITORY / "scripts/image", "--binary", os.environ["HOLDFAST_BINARY"],
                    "--output", directory], env={**os.environ, "SOURCE_DATE_EPOCH": TIME},
                   check=True)
    return directory


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="module")
def archive(built):
    """The parsed files of the archive, its layer unpacked."""
    with tarfile.open(built / "holdfast.tar") as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar}
    [image] = json.loads(files["manifest.json"])
    layer = built / "layer.tar.gz"
    layer.write_bytes(files[image["Layers"][0]])
    root = built / "root"
    root.mkdir()
    subprocess.run(["tar", "-xzf", layer, "-C", root], check=True)
    os.mknod(root / "dev/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))  # as a runtime does
    return files, json.loads(files[image["Config"]]), root


def test_the_same_bytes_each_time(built, tmp_path):
    again = build(tmp_path / "again")
    for name in ("holdfast.tar", "holdfast.spdx.json"):
        assert (again / name).read_bytes() == (built / name).read_bytes()


def test_blobs_are_named_by_their_digests(archive):
    files, config, _ = archive
    blobs = {name: content for name, content in files.items() if name.startswith("blobs/sha256/")}
    assert len(blobs) == 3  # manifest, configuration, layer
    for name, content in blobs.items():
        assert pathlib.PurePath(name).name == hashlib.sha256(content).hexdigest()
    [manifest] = json.loads(files["index.json"])["manifests"]
    assert manifest["digest"].replace(":", "/") in " ".join(blobs)
    assert manifest["annotations"]["io.containerd.image.name"].startswith(
        "docker.io/library/holdfast:")
    assert config["config"]["Entrypoint"] == ["/usr/sbin/holdfast"]


def test_it_runs_without_privileges_unless_told_otherwise(archive):
    _, config, root = archive
    assert config["config"]["User"] == "65532:65532"
    assert "holdfast:x:65532:65532:" in (root / "etc/passwd").read_text()


def test_its_programs_start(archive):
    root = archive[2]
    for program in PROGRAMS:
        done = subprocess.run([*INSIDE, "--setuid=65532", "--setgid=65532", f"--root={root}",
                               *program], capture_output=True, text=True, check=False)
        assert "not found" not in done.stderr and done.returncode in (0, 1), done.stderr


def test_it_makes_filesystems(archive):
    root = archive[2]
    for program in ("mkfs.ext4", "mkfs.ext3", "mkfs.xfs", "mkfs.btrfs"):
        with open(root / "tmp/disk", "wb") as disk:
            disk.truncate(512 << 20)
        subprocess.run([*INSIDE, f"--root={root}", program, "-q", "/tmp/disk"], check=True)
        (root / "tmp/disk").unlink()


def test_it_has_what_a_pool_in_ceph_needs(archive):
    """The libraries are loaded, and ask a monitor that does not answer."""
    root = archive[2]
    (root / "tmp/userKey").write_text("AQBQm1tnAAAAABAAzcPBrN2ZtYb6pZ5V0yqXlA==")
    done = subprocess.run(
        [*INSIDE, "--setuid=65532", "--setgid=65532", f"--root={root}", "holdfast", "doctor",
         "--state-dir=/tmp/state", "--output=json", "--pool=ceph=rbd:volumes,monitors=127.0.0.1:1,"
         "user=holdfast,keyring=/tmp/userKey"], capture_output=True, text=True, check=False)
    (root / "tmp/userKey").unlink()
    assert "the Ceph cluster did not answer in time" in done.stdout, done.stdout + done.stderr


def test_nothing_is_there_that_nobody_asked_for(archive):
    root = archive[2]
    names = {path.name for path in root.rglob("*")}
    assert not names & {"sh", "bash", "perl", "python3", "apt", "dpkg", "locale", "man"}
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
    assert not [path for path in files if path.stat().st_mode & 0o6022]


def test_the_bill_of_materials_names_every_package(archive, built):
    root = archive[2]
    bill = json.loads((built / "holdfast.spdx.json").read_text())
    inside = root / "usr/share/doc/holdfast/holdfast.spdx.json"
    assert json.loads(inside.read_text()) == bill
    assert bill["creationInfo"]["created"] == "2023-11-14T22:13:20Z"  # TIME
    names = {package["name"]: package for package in bill["packages"]}
    assert {"holdfast", "libc6", "libssl3", "e2fsprogs", "xfsprogs", "btrfs-progs", "libgrpc-dev",
            "libprotobuf-dev", "librados2", "librbd1"} <= names.keys()
    digest = hashlib.sha256((root / "usr/sbin/holdfast").read_bytes()).hexdigest()
    assert names["holdfast"]["checksums"][0]["checksumValue"] == digest
    kinds = {relation["relationshipType"] for relation in bill["relationships"]}
    assert kinds == {"DESCRIBES", "DEPENDS_ON", "STATIC_LINK"}
    assert len(names) == len(bill["packages"])


def test_the_bill_of_materials_names_libraries_that_are_headers_alone(built):
    bill = json.loads((built / "holdfast.spdx.json").read_text())
    identifiers = {package["SPDXID"]: package["name"] for package in bill["packages"]}
    inside = {identifiers[relation["relatedSpdxElement"]] for relation in bill["relationships"]
              if relation["relationshipType"] == "STATIC_LINK"}
    assert {"nlohmann-json3-dev", "libboost1.74-dev", "libcli11-dev", "libfmt-dev",
            "libjansson-dev", "jose", "prometheus-cpp"} <= inside


def test_the_licence_of_every_shipped_package_is_there(archive, built):
    root = archive[2]
    bill = json.loads((built / "holdfast.spdx.json").read_text())
    shipped = {relation["relatedSpdxElement"] for relation in bill["relationships"]
               if relation["relationshipType"] == "DEPENDS_ON"}
    for package in bill["packages"]:
        notice = root / "usr/share/doc" / package["name"] / "copyright"
        if package["SPDXID"] in shipped and not package["name"].startswith(("libgcc", "libstdc")):
            assert notice.stat().st_size > 0, package["name"]
    assert (root / "usr/share/doc/gcc-12-base/copyright").stat().st_size > 0


def test_a_missing_driver_is_said(tmp_path):
    done = subprocess.run([REPOSITORY / "scripts/image", "--binary", tmp_path / "none",
                           "--output", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "run make build" in done.stderr
