# SPDX-License-Identifier: Apache-2.0
"""Connections: many short ones, silent ones, and the driver's end."""

import concurrent.futures
import pathlib
import socket
import subprocess


import csi_client
import serve
from kubelet import PersistentVolume

STOP_SECONDS = 5


def open_files(driver):
    return len(list(pathlib.Path(f"/proc/{driver.server.process.pid}/fd").iterdir()))


def threads(driver):
    return len(list(pathlib.Path(f"/proc/{driver.server.process.pid}/task").iterdir()))


def test_many_short_connections_leave_nothing_in_the_driver(driver, kubelet):
    volume = PersistentVolume(driver.create("pv").volume_id, "pv", filesystem="ext4")

    def use(times):
        for _ in range(times):
            path = kubelet.mount(volume, "pod")
            for _ in range(10):
                kubelet.stats(volume, path)
            kubelet.unmount(volume, "pod")

    use(3)
    files, workers = open_files(driver), threads(driver)
    use(15)
    assert open_files(driver) <= files + 2
    assert threads(driver) <= workers + 4


def test_a_second_server_does_not_start(driver, directory):
    second = serve.Server(driver.server.command[0], directory, [f"default=file:{driver.pool}"])
    second.process = subprocess.Popen(second.command, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, start_new_session=True)
    output, _ = second.process.communicate(timeout=30)
    assert second.process.returncode not in (0, None)
    assert output.strip(), "the reason must be told"
    assert driver.is_ready()


def test_a_silent_connection_does_not_hold_up_the_end(driver):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(str(driver.server.socket))
        assert driver.is_ready()
        driver.server.process.terminate()
        try:
            ended = driver.server.process.wait(STOP_SECONDS) == 0
        except subprocess.TimeoutExpired:
            ended = False
    driver.server.process.wait()
    driver.start()
    assert ended


def test_a_call_that_runs_is_answered_before_the_end(driver, kubelet, program_gate):
    volume = PersistentVolume(driver.create("pv").volume_id, "pv", filesystem="ext4")
    mkfs = program_gate("mkfs.ext4")
    staging = kubelet.global_mount(volume)
    staging.mkdir(parents=True)
    with concurrent.futures.ThreadPoolExecutor(1) as worker:
        call = worker.submit(driver.call, "NodeStageVolume", volume_id=volume.handle,
                             staging_target_path=str(staging),
                             volume_capability=volume.capability())
        mkfs.wait_until_started()
        driver.server.process.terminate()
        mkfs.let_through()
        call.result(csi_client.CALL_SECONDS)
    assert driver.server.process.wait(serve.STOP_SECONDS) == 0
    driver.start()
    kubelet.stage(volume)
    kubelet.unstage(volume)
