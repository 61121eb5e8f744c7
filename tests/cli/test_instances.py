# SPDX-License-Identifier: Apache-2.0
"""Starting, stopping, and a second instance."""

import pathlib
import signal
import threading

import command
import csi_client

REFUSED = 1


def second(holdfast, directory, **places):
    """Starts another instance whose places are its own unless given."""
    other = directory / "other"
    (other / "pool").mkdir(parents=True)
    places = {"endpoint": f"unix://{other}/csi.sock", "state_dir": f"{other}/state",
              "pool": f"{other}/pool"} | places
    return holdfast("serve", f"--endpoint={places['endpoint']}", "--node-id=other",
                    f"--state-dir={places['state_dir']}", f"--pool=default=file:{places['pool']}")


def serves(driver):
    """The instance answers, and works: a volume can be made."""
    return driver.create("still-here", filesystem="ext4").volume_id in driver.listed()


def test_same_socket_is_refused_and_the_first_goes_on(holdfast, driver, directory):
    result = second(holdfast, directory, endpoint=f"unix://{driver.server.socket}")
    command.refused(result, REFUSED, str(driver.server.socket))
    assert serves(driver)


def test_same_state_directory_is_refused_and_the_first_goes_on(holdfast, driver, directory):
    result = second(holdfast, directory, state_dir=directory / "state")
    assert result.returncode == REFUSED
    assert "lock" in result.stderr
    assert not (directory / "other" / "csi.sock").exists()
    assert serves(driver)


def test_same_pool_is_refused_and_the_first_goes_on(holdfast, driver, directory):
    result = second(holdfast, directory, pool=driver.pool)
    assert result.returncode == REFUSED
    assert "lock" in result.stderr
    assert serves(driver)


def test_stale_socket_is_no_obstacle(driver):
    driver.server.kill()
    assert driver.server.socket.is_socket()
    driver.start()
    assert serves(driver)


def test_a_file_in_the_place_of_the_socket_stays(holdfast, driver, directory):
    path = directory / "precious"
    path.write_text("data")
    result = second(holdfast, directory, endpoint=f"unix://{path}")
    command.refused(result, REFUSED, str(path))
    assert path.read_text() == "data"


def test_settings_come_from_the_file_and_flags_win(directory, new_driver):
    driver = new_driver()
    config = directory / "config.yaml"
    config.write_text(f"endpoint: unix://{directory}/unused.sock\nnodeId: from-file\n"
                      f"pools:\n  - name: default\n    file: {driver.pool}\n")
    driver.server.stop()
    driver.server.command = [driver.server.command[0], "serve", f"--config={config}",
                             f"--endpoint=unix://{driver.server.socket}",
                             f"--state-dir={directory}/state"]
    driver.start()
    assert driver.call("NodeGetInfo").node_id == "from-file"
    assert not (directory / "unused.sock").exists()


def formatting_has_begun(driver, volume_id, ended):
    while driver.record(volume_id)["state"] == "ready" and not ended.is_set():
        pass


def test_sigterm_lets_a_running_call_finish(driver, directory):
    volume_id = driver.create("busy", filesystem="xfs").volume_id
    staging = directory / "staging"
    staging.mkdir()
    ended, errors = threading.Event(), []

    def stage():
        try:
            driver.call("NodeStageVolume", volume_id=volume_id, staging_target_path=str(staging),
                        volume_capability=csi_client.capability(filesystem="xfs"))
        except Exception as error:  # the test is about any failure of the call
            errors.append(error)
        ended.set()

    caller = threading.Thread(target=stage)
    caller.start()
    formatting_has_begun(driver, volume_id, ended)
    driver.server.process.send_signal(signal.SIGTERM)
    caller.join()
    assert not errors
    assert driver.server.process.wait(60) == 0
    assert driver.record(volume_id)["state"] == "formatted"
    driver.start()
    driver.call("NodeUnstageVolume", volume_id=volume_id, staging_target_path=str(staging))


def test_sigint_ends_it_too(driver):
    driver.server.process.send_signal(signal.SIGINT)
    assert driver.server.process.wait(60) == 0
    assert not pathlib.Path(driver.server.socket).exists()
    driver.start()
