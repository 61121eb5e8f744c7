"""One boot of the test guest: qemu without KVM, its console, its shutdown.

The guest has two serial ports. The first is the kernel's console and is written directly to the
log. The second carries the scenario's lines and reaches both the log and the reader of `lines()`:
kernel messages can therefore never tear a line that the result depends on."""

import queue
import shlex
import signal
import subprocess
import threading
import time

QEMU = "/usr/bin/qemu-system-x86_64"
# no_timer_check: on a busy host the timer seems not to work when the kernel tries it.
COMMAND_LINE = ("console=ttyS0 loglevel=6 panic=-1 oops=panic mitigations=off nokaslr "
                "no_timer_check")


class GuestTimeout(Exception):
    """The guest did not end before its deadline and was killed."""


class Machine:
    """A running guest. Used as a context manager; leaving it kills the guest if it still runs."""

    def __init__(self, kernel, initramfs, disk, guest_script, parameters, log, deadline_s,
                 memory="1536M", more=()):
        """`more` are further arguments of qemu, such as devices."""
        self._deadline = time.monotonic() + deadline_s
        self._deadline_s = deadline_s
        self._lines = queue.Queue()
        self._log = log
        words = [COMMAND_LINE, f"guest={guest_script}"]
        words += [f"{key}={value}" for key, value in parameters.items()]
        self._process = subprocess.Popen(
            [*qemu_arguments(kernel, initramfs, disk, " ".join(words), log.name, memory), *more],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.cut_power()

    def _read(self):
        for raw in self._process.stdout:
            self._log.write(raw)
            self._log.flush()
            if raw.endswith(b"\n"):  # a line torn by the power cut never reached anybody
                self._lines.put(raw.decode(errors="replace").rstrip())
        self._lines.put(None)

    def lines(self):
        """Yields the scenario's lines until the guest ends. Throws GuestTimeout at the deadline."""
        while True:
            try:
                line = self._lines.get(timeout=max(0, self._deadline - time.monotonic()))
            except queue.Empty:
                self.cut_power()
                raise GuestTimeout(f"no end within {self._deadline_s:.0f} s") from None
            if line is None:
                return
            yield line

    def pause(self):
        """The guest stops, as a machine that hangs, until resume()."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        self._process.send_signal(signal.SIGCONT)

    def cut_power(self):
        """Kills the guest at once: what it had not flushed to its disk is lost, as in a power cut.

        What it had flushed is in the host's page cache, which outlives qemu (cache=writeback).
        """
        self._process.kill()
        self._process.wait()
        self._reader.join()


# A second processor, or instructions of newer ones, cost more to emulate than they save.
def qemu_arguments(kernel, initramfs, disk, command_line, log_name, memory):
    qemu = f"""
        setpriv --pdeathsig KILL {QEMU} -accel tcg -cpu Nehalem -smp 1 -m {memory}
        -display none -monitor none -nodefaults -no-reboot
        -chardev file,id=kernel,path={shlex.quote(log_name)},append=on -serial chardev:kernel
        -chardev stdio,id=scenario,signal=off -serial chardev:scenario
        -virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap
        -drive file={shlex.quote(str(disk))},if=virtio,format=raw,cache=writeback
        -kernel {kernel} -initrd {shlex.quote(str(initramfs))}"""
    return shlex.split(qemu) + ["-append", command_line]
