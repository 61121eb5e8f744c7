"""The host's files for a boot of the guest: kernel, modules, the driver and its stubs."""

import pathlib
import shutil
import subprocess

import initramfs
import machine

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BINARY = REPOSITORY / "build/release/holdfast"


def missing_on_host():
    """Returns the reason why no scenario can run and its remedy, or None."""
    packages = (("qemu-system-x86", pathlib.Path(machine.QEMU)),
                ("busybox-static", initramfs.BUSYBOX),
                ("kmod", pathlib.Path("/sbin/modprobe")),
                ("linux-image-amd64", kernel()))
    for package, file in packages:
        if file is None or not file.exists():
            return f"{package} is missing; install it: apt-get install {package}"
    return None


def kernel(module="*"):
    """The newest installed kernel whose modules are installed too, including this one; or None."""
    found = [image for image in pathlib.Path("/boot").glob("vmlinuz-*")
             if any(modules(image).glob(f"kernel/{module}"))]
    return max(found, key=lambda image: image.stat().st_mtime, default=None)


def modules(image):
    return pathlib.Path("/lib/modules") / image.name.removeprefix("vmlinuz-")


def missing_for_driver(binary):
    """Returns the reason why the scenarios of the driver cannot run and its remedy, or None."""
    if not binary.is_file():
        return f"{binary} is missing; build it: make build"
    probe = subprocess.run(["/usr/bin/python3", "-c", "import grpc, grpc_tools"], check=False,
                           stderr=subprocess.DEVNULL)
    if probe.returncode != 0:
        packages = "python3-grpcio python3-grpc-tools"
        return f"{packages} are missing; install them: apt-get install {packages}"
    return None


def prepare_driver(binary, run_dir):
    """Copies the driver, so that a build during the run changes nothing, and makes its stubs."""
    shutil.copy(binary, run_dir / "holdfast")
    subprocess.run(["/usr/bin/python3", "-m", "grpc_tools.protoc", f"-I{REPOSITORY}/proto",
                    "-I/usr/include", f"--python_out={run_dir}", f"--grpc_python_out={run_dir}",
                    "csi.proto"], check=True)
