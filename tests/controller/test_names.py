# SPDX-License-Identifier: Apache-2.0
"""Names of volumes."""

import concurrent.futures

import pytest

from csi_client import outcome, refused

NAMES = ["../../etc/passwd", "/", ".", "..", "a/b", "with space", "tab\tand\nnewline", "naïve",
         "名前", "🪸" * 32, "ｆｕｌｌ", "e\u0301", "\u00e9", "quote'\"\\", "%s%n", "\u202eright-to-left",
         "x" * 128, "-rf", "$(reboot)", "record.json"]


def test_any_name_is_only_a_name(driver):
    """Names that look alike are different volumes; none of them is ever a path."""
    ids = {name: driver.create(name).volume_id for name in NAMES}
    assert len(set(ids.values())) == len(NAMES)
    driver.crash()
    assert {name: driver.create(name).volume_id for name in NAMES} == ids
    for volume_id in ids.values():
        assert len(volume_id.encode()) <= 128 and "^" not in volume_id
    listed = {volume.id: volume.name for volume in driver.client.admin("ListVolumes").volumes}
    assert listed == {volume_id: name for name, volume_id in ids.items()}
    assert driver.leftovers(), "volumes are counted"


@pytest.mark.parametrize("name", ["", "x" * 129, "é" * 65, "a\x00b", "bell\x07", "del\x7f",
                                  "c1\u0085"])
def test_names_that_the_specification_forbids(driver, name):
    with refused("INVALID_ARGUMENT", "name"):
        driver.create(name)
    assert driver.listed() == []


def test_one_name_created_by_many_at_once_is_one_volume(driver):
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        codes = list(threads.map(lambda _: outcome(lambda: driver.create("pv")), range(16)))
    assert set(codes) <= {"OK", "ABORTED"} and "OK" in codes
    assert len(driver.listed()) == 1
