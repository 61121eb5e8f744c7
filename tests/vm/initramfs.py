"""The initial RAM filesystem of the test guest: busybox, the modules of a 9p root, and `init`."""

import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
BUSYBOX = pathlib.Path("/bin/busybox")
ROOT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
MOUNT_POINTS = ("bin", "proc", "sys", "dev", "host", "layer", "root", "modules")


def build(kernel_release, work_dir):
    """Writes the archive for `kernel_release` below `work_dir` and returns its path."""
    tree = work_dir / "initramfs"
    for name in MOUNT_POINTS:
        (tree / name).mkdir(parents=True)
    shutil.copy(BUSYBOX, tree / "bin/busybox")
    shutil.copy(HERE / "init", tree / "init")
    (tree / "init").chmod(0o755)
    modules = module_files(kernel_release)
    for module in modules:
        shutil.copy(module, tree / "modules" / module.name)
    order = "".join(f"{module.name}\n" for module in modules)
    (tree / "modules/order").write_text(order, encoding="ascii")
    return pack(tree, work_dir / "initramfs.cpio")


def module_files(kernel_release):
    """Every file that must be inserted for the root, each once, dependencies first."""
    files = {}
    for module in ROOT_MODULES:
        listing = subprocess.run(
            ["/sbin/modprobe", "-S", kernel_release, "--show-depends", module],
            check=True, capture_output=True, text=True).stdout
        for line in listing.splitlines():
            action, path = line.split()[:2]
            if action == "insmod":  # the other answer is "builtin <name>"
                files[pathlib.Path(path)] = None
    return list(files)


def pack(tree, archive):
    names = [os.path.relpath(path, tree) for path in sorted(tree.rglob("*"))]
    with archive.open("wb") as output:
        subprocess.run([BUSYBOX, "cpio", "-o", "-H", "newc", "-R", "0:0"], cwd=tree, check=True,
                       input="\n".join(names).encode() + b"\n", stdout=output,
                       stderr=subprocess.DEVNULL)
    return archive
