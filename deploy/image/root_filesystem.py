# SPDX-License-Identifier: Apache-2.0
"""The contents of the image: the driver, the programs and libraries it uses, and licences."""

import os
import pathlib
import shutil
import subprocess

import shared_libraries

# Programs that the driver runs (src/fs), and programs to repair a filesystem that it does not repair.
PROGRAMS = ("/usr/sbin/mke2fs", "/usr/sbin/e2fsck", "/usr/sbin/resize2fs", "/usr/sbin/e2undo",
            "/usr/sbin/tune2fs", "/usr/sbin/mkfs.xfs", "/usr/sbin/xfs_db",
            "/usr/sbin/xfs_logprint", "/usr/sbin/xfs_repair",
            "/usr/sbin/mkfs.btrfs", "/usr/bin/btrfs", "/usr/bin/btrfstune")
# Libraries that it loads for a pool in Ceph (src/rbd/ceph_library.cc).
LOADED = ("librados.so.2", "librbd.so.1")
LINKS = {"usr/sbin/mkfs.ext3": "mke2fs", "usr/sbin/mkfs.ext4": "mke2fs"}
CONFIGURATION = ("/etc/mke2fs.conf",)
DRIVER = "/usr/sbin/holdfast"
USER = 65532  # without privileges; the name is for programs that look it up
ACCOUNTS = {"etc/passwd": f"root:x:0:0:root:/:/\nholdfast:x:{USER}:{USER}:Holdfast:/:/\n",
            "etc/group": f"root:x:0:\nholdfast:x:{USER}:\n",
            "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n"}
MERGED = ("bin", "sbin", "lib", "lib64")
EMPTY = {"dev": 0o755, "proc": 0o755, "sys": 0o755, "run": 0o755, "tmp": 0o1777, "var/lib": 0o755}


def loaded_files():
    """Returns the libraries that the driver loads, and those that these need."""
    roots = [shared_libraries.of_name(soname) for soname in LOADED]
    return [*roots, *(library for root in roots for library in shared_libraries.on_this_host(root))]


def package_files(driver):
    """Returns the files of Debian packages that belong in the image."""
    libraries = [library for program in (driver, *PROGRAMS)
                 for library in shared_libraries.on_this_host(program)]
    return sorted({merged(path) for path in (*PROGRAMS, *libraries, *loaded_files(),
                                             *CONFIGURATION)})


def licence_notice(package_name):
    """Returns the file with a package's licences, which may belong to a related package."""
    return os.path.realpath(f"/usr/share/doc/{package_name}/copyright")


def merged(path):
    """Returns the path below /usr where Debian merges a directory of the root into /usr."""
    return f"/usr{path}" if path.split("/")[1] in MERGED else path


def copy(source, target):
    """Copies a file, or the target of a symbolic link in a package."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)


def resolve(package, path):
    """Follows the links inside an unpacked package."""
    found = package.find(path)
    while found is not None and found.is_symlink():
        link = os.readlink(found)
        inside = pathlib.PurePosixPath("/", found.relative_to(package.root)).parent / link
        found = package.find(os.path.normpath(inside))
    return found


def lay_out(root, driver, owned_files, licence, vendored):
    """Creates the image's file tree. `owned_files` maps a path in the image to its package; `vendored`
    libraries are in the driver."""
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for name, mode in EMPTY.items():
        (root / name).mkdir(parents=True)
        (root / name).chmod(mode)
    for path, package in owned_files.items():
        source = resolve(package, path)
        if source is None:
            raise SystemExit(f"image: {package.name} {package.version} has no {path}, which this "
                             "host has; upgrade the host's packages and build again")
        copy(source, root / path.lstrip("/"))
    for path, target in LINKS.items():
        (root / path).symlink_to(target)
    copy(driver, root / DRIVER.lstrip("/"))
    subprocess.run(["strip", root / DRIVER.lstrip("/")], check=True)
    for path, text in ACCOUNTS.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    copy(licence, root / "usr/share/doc/holdfast/copyright")
    for library in vendored:
        copy(library.licence_path, root / f"usr/share/doc/holdfast/{library.name}.copyright")


def check(root, owned_files):
    """Exits with an error if a library is missing that a program of the image needs or that the
    driver loads."""
    inside = [root / path.lstrip("/") for path in (*owned_files, DRIVER)]
    shared_libraries.check_closed([path for path in inside if path.parent.name.endswith("bin")
                                   or path.name in LOADED],
                                  {path.parent for path in inside if ".so" in path.name})
