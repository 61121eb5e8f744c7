# SPDX-License-Identifier: Apache-2.0
"""One run of csi-sanity against a server, or against a node and a controller."""

import os
import select
import subprocess

import report

VOLUME_BYTES = 400 << 20  # xfs needs 300 MiB
EXPANDED_BYTES = 500 << 20
SUITE_SECONDS = 600
GRACE_SECONDS = 60  # for csi-sanity to report after its own time-out
LOG = "csi-sanity.log"


def command(csi_sanity, directory, servers, access, provisioning, focus, seconds):
    parameters = directory / "parameters.yaml"
    parameters.write_text(f"provisioning: {provisioning}\n")
    return [csi_sanity, f"-csi.endpoint=unix://{servers[0].socket}",
            f"-csi.controllerendpoint=unix://{servers[-1].socket}",
            f"-csi.mountdir={directory}/target", f"-csi.stagingdir={directory}/staging",
            f"-csi.testvolumesize={VOLUME_BYTES}", f"-csi.testvolumeexpandsize={EXPANDED_BYTES}",
            f"-csi.testvolumeaccesstype={access}", f"-csi.testvolumeparameters={parameters}",
            f"-ginkgo.timeout={seconds}s", "-ginkgo.no-color", "-ginkgo.v",
            f"-ginkgo.junit-report={directory}/junit.xml",
            *([f"-ginkgo.focus={focus}"] if focus else [])]


def wait(tests, servers, seconds):
    """Waits until csi-sanity ends or a server dies, since each spec would then wait for it."""
    watched = [os.pidfd_open(process.pid)
               for process in (tests, *(server.process for server in servers))]
    try:
        ended, _, _ = select.select(watched, [], [], seconds + GRACE_SECONDS)
    finally:
        for descriptor in watched:
            os.close(descriptor)
    if watched[0] in ended:
        return None
    return "a server died during the run" if ended else "csi-sanity hangs"


def run(csi_sanity, directory, servers, access, provisioning, verbose, focus="",
        seconds=SUITE_SECONDS):
    """Returns the specs that ran, and a problem with the run itself or None. With a focus, only
    specs with matching names run; the report lists the others as skipped."""
    with open(directory / LOG, "wb") as log:
        tests = subprocess.Popen(command(csi_sanity, directory, servers, access, provisioning,
                                         focus, seconds),
                                 stdin=subprocess.DEVNULL, stdout=None if verbose else log,
                                 stderr=subprocess.STDOUT, cwd=directory,
                                 # One thread: fewer lost races (LOST_RACE in run).
                                 env=dict(os.environ, GOMAXPROCS="1"))
    try:
        problem = wait(tests, servers, seconds)
    finally:
        if tests.poll() is None:
            tests.kill()
        code = tests.wait()
    specs = report.read(directory / "junit.xml")
    if not problem and not specs:
        problem = f"csi-sanity ended with {code} and ran nothing"
    if not problem and code != 0 and all(spec.outcome != "failed" for spec in specs):
        problem = f"csi-sanity ended with {code} although no spec failed"
    return specs, problem
