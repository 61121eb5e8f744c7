"""Runs phases of a scenario inside the guest: phases.py SCENARIO PHASE[,PHASE] RUN_DIR."""

import importlib
import pathlib
import sys
import traceback

import kernel_log


def main():
    name, phases, run_dir = sys.argv[1:]
    sys.path.insert(0, run_dir)  # csi_pb2 and csi_pb2_grpc
    module = importlib.import_module("scenarios." + name.replace("-", "_"))
    for phase in phases.split(","):
        try:
            getattr(module, phase)(pathlib.Path(run_dir))
            kernel_log.assert_content()
        except Exception as error:  # the boundary: every failure becomes a verdict
            traceback.print_exc()
            print(f"FAILED {phase}: {reason(error)}", flush=True)
            sys.exit(1)
        print(f"{name}: {phase} done", flush=True)


def reason(error):
    """One line; for an RPC error only its code and text, because the error has many lines."""
    text = f"{error.code().name}: {error.details()}" if hasattr(error, "details") else str(error)
    return f"{type(error).__name__}: {text}".replace("\n", " ")


main()
