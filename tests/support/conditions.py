# SPDX-License-Identifier: Apache-2.0
"""The answers about a volume of the calls that report a condition."""


def told(driver, volume, *paths):
    """Each call's answer: (abnormal, message), by call; the node's answers are for the volume's
    paths."""
    listed = {entry.volume.volume_id: entry.status.volume_condition
              for entry in driver.call("ListVolumes").entries}
    said = {"ListVolumes": listed[volume.handle],
            "ControllerGetVolume": driver.call("ControllerGetVolume", volume_id=volume.handle)
            .status.volume_condition}
    for path in paths:
        stats = driver.call("NodeGetVolumeStats", volume_id=volume.handle, volume_path=str(path))
        assert stats.usage, "without it kubelet does not look at the condition"
        said[f"NodeGetVolumeStats {path}"] = stats.volume_condition
    return {call: (condition.abnormal, condition.message) for call, condition in said.items()}


def is_normal(driver, volume, *paths):
    """Whether no call says that something is wrong."""
    return not any(abnormal for abnormal, _ in told(driver, volume, *paths).values())


def assert_normal(driver, volume, *paths):
    assert is_normal(driver, volume, *paths), told(driver, volume, *paths)


def assert_abnormal(driver, volume, *paths, why=""):
    """Every call says so, and why."""
    said = told(driver, volume, *paths)
    assert all(abnormal and why in message for abnormal, message in said.values()), said
