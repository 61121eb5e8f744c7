# SPDX-License-Identifier: Apache-2.0
"""The driver under a trap, and the CO's side of it with callers that give up."""

import pathlib
import socket
import sys
import time

import grpc

import csi_client
import driver
import serve
import trap

LAUNCHER = pathlib.Path(__file__).resolve().parent / "launch_trapped.py"
ACCEPT_SECONDS = 60
HOLD_SECONDS = 60
SIGNAL_WAIT = "128"  # rt_sigtimedwait: where the main thread rests once the start is over
QUESTIONS = ("NodeGetCapabilities", "Probe")


class TrappedServer(serve.Server):
    """`trap` is of the present process."""

    def __init__(self, binary, directory, pools):
        super().__init__(str(binary), directory, pools)
        self.place = str(directory / "trap.sock")
        self.command = [sys.executable, "-B", str(LAUNCHER), self.place, *self.command]
        self.trap = None
        self.programs = []  # which this and earlier processes started
        self.start_fault = None  # met by the next start

    def launch(self):
        self.forget_trap()
        pathlib.Path(self.place).unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(self.place)
            door.listen()
            door.settimeout(ACCEPT_SECONDS)
            super().launch()
            connection, _ = door.accept()
        with connection:
            _, (listener,), _, _ = socket.recv_fds(connection, 16, 1)
        fault, self.start_fault = self.start_fault, None
        self.trap = trap.Trap(listener, self.process.pid, self.programs, fault)

    def forget_trap(self):
        """Waits until nothing that the last process started remains."""
        if self.trap:
            self.trap.close()
        self.trap = None

    def kill(self):
        super().kill()
        self.forget_trap()

    def stop(self):
        problem = super().stop()
        self.forget_trap()
        return problem


class TrappedDriver(driver.Driver):
    def __init__(self, binary, directory):
        super().__init__(binary, directory)
        # Nothing is kept unless a class says so, and what is kept makes room.
        pool = f"default=file:{self.pool},trash=reclaim"
        self.server = TrappedServer(binary, directory, [pool])
        self.cut = None  # how the next call's caller gives up: cancel, or seconds

    @property
    def trap(self):
        return self.server.trap

    def has_ended(self):
        return self.server.process.poll() is not None

    def try_start(self, fault=None):
        """Starts; whether it came to serve, with all of its start behind it."""
        self.server.start_fault = fault
        if self.server.start() is not None:
            return False
        deadline = time.monotonic() + driver.READY_SECONDS
        while not self.has_ended():
            assert time.monotonic() < deadline, f"not ready\n{self.log()[-4000:]}"
            if self.is_ready() and self.rests():
                return True
            time.sleep(0.002)
        return False

    def rests(self):
        text = pathlib.Path(f"/proc/{self.server.process.pid}/syscall").read_text()
        return text.split()[0] == SIGNAL_WAIT

    def start(self):
        assert self.try_start(), f"the driver does not start\n{self.log()[-4000:]}"
        return self

    def opened(self):
        """The files and devices of volumes that the driver has open: none while it is idle."""
        links = [trap.path_of_descriptor(self.server.process.pid, entry.name) for entry in
                 pathlib.Path(f"/proc/{self.server.process.pid}/fd").iterdir()]
        places = (f"{self.pool}/volumes/", f"{self.pool}/trash/", f"{self.pool}/digests/",
                  f"{self.directory}/kubelet/", "/dev/loop")
        return [link for link in links if link.startswith(places)]

    def call(self, method, **fields):
        if self.cut is None or method in QUESTIONS:
            return super().call(method, **fields)
        cut, self.cut = self.cut, None
        return self.cut_call(method, cut, fields)

    def command(self, method, **fields):
        """The same for a command of an administrator."""
        if self.cut is None:
            return self.client.admin_command(method, **fields)
        cut, self.cut = self.cut, None
        return self.cut_call(method, cut, fields)

    def cut_call(self, method, cut, fields):
        """The caller gives up while the trap holds the driver; then the driver continues."""
        method = csi_client.METHODS.get(method) or csi_client.ADMIN_METHODS[method]
        timeout = HOLD_SECONDS if cut == "cancel" else cut
        with grpc.insecure_channel(self.client.target,
                                   options=csi_client.CHANNEL_OPTIONS) as channel:
            # Connected first, so that the time is the call's.
            probe = csi_client.METHODS["Probe"]
            csi_client.invoker(channel, probe)(csi_client.request(probe, {}))
            answer = csi_client.invoker(channel, method).future(
                csi_client.request(method, fields), timeout=timeout)
            while cut == "cancel" and not answer.done() and not self.trap.holding.wait(0.005):
                pass
            if cut == "cancel":
                answer.cancel()
            try:
                return answer.result()
            finally:
                self.trap.let_go()


def code_of(action):
    """Carries out a call and returns the name of its code."""
    try:
        action()
    except grpc.FutureCancelledError:
        return "CANCELLED"
    except grpc.RpcError as error:
        return csi_client.code_of(error)
    return "OK"


def what_is_missing():
    """Why calls cannot be held here, with the remedy; or None."""
    try:
        import seccomp  # noqa: F401
    except ImportError:
        return "the Python module seccomp is missing: apt-get install python3-seccomp"
    actions = pathlib.Path("/proc/sys/kernel/seccomp/actions_avail").read_text().split()
    return None if "user_notif" in actions else "the kernel lacks seccomp_unotify(2) (Linux 5.5)"
