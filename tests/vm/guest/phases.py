"""Runs phases of a scenario inside the guest: phases.py SCENARIO PHASE[,PHASE] RUN_DIR."""

import importlib
import os
import pathlib
import re
import sys
import traceback

# Words of the kernel's messages that no scenario may cause, not even by a power cut.
KERNEL_TROUBLE = re.compile(r"BUG:|WARNING: CPU|Oops|I/O error|EXT4-fs error|XFS .*[Cc]orrupt"
                            r"|BTRFS (error|critical)|hung task|blocked for more than")


def assert_kernel_is_content():
    found = [line for line in kernel_messages() if KERNEL_TROUBLE.search(line)]
    assert not found, f"the kernel complained: {found}"


def kernel_messages():
    descriptor = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            yield os.read(descriptor, 8192).decode(errors="replace")
    except BlockingIOError:
        return
    finally:
        os.close(descriptor)


def main():
    name, phases, run_dir = sys.argv[1:]
    sys.path.insert(0, run_dir)  # csi_pb2 and csi_pb2_grpc
    module = importlib.import_module("scenarios." + name.replace("-", "_"))
    for phase in phases.split(","):
        try:
            getattr(module, phase)(pathlib.Path(run_dir))
            assert_kernel_is_content()
        except Exception as error:  # the boundary: every failure becomes a verdict
            traceback.print_exc()
            print(f"FAILED {phase}: {reason(error)}", flush=True)
            sys.exit(1)
        print(f"{name}: {phase} done", flush=True)


def reason(error):
    """One line; an RPC's error tells code and text instead of its many-lined self."""
    text = f"{error.code().name}: {error.details()}" if hasattr(error, "details") else str(error)
    return f"{type(error).__name__}: {text}".replace("\n", " ")


main()
