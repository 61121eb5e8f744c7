"""The driver's report about pool and volumes, compared with the provisioned space and the disk."""

import leftovers
from driver import POOL

BLOCK = 512  # unit of st_blocks, stat(2)


def assert_exact(driver, promised):
    """All volumes are staged: the pool's provisioned space is theirs and it contains only their
    files, thick volumes are thick, and each record names the filesystem."""
    volumes = [promise.volume for promise in promised.volumes.values()]
    states = {entry["id"]: entry["state"] for entry in driver.inventory("volumes")}
    assert states == {volume.id: "formatted" for volume in volumes}, states
    pool, = driver.inventory("pools")
    for provisioning in ("thick", "thin"):
        want = sum(volume.size for volume in volumes if volume.provisioning == provisioning)
        found = pool[f"{provisioning}_provisioned_bytes"]
        assert found == want, f"{found} bytes of {provisioning} are provisioned, volumes have {want}"
    assert_files(volumes, promised.baseline[0])
    for volume in volumes:
        facts = image(volume).stat()
        assert facts.st_size == volume.size, f"{volume.name}: {facts.st_size}, not {volume.size}"
        allocated = facts.st_blocks * BLOCK
        assert volume.provisioning == "thin" or allocated >= volume.size, (
            f"thick {volume.name} has {allocated} bytes of {volume.size}")
    backings = [str(image(volume)) for volume in volumes]
    assert leftovers.attached_loops() == sorted(backings), "not one loop device per staged volume"
    used = sum(image(volume).stat().st_blocks * BLOCK for volume in volumes)
    leftovers.await_free_space(POOL, promised.baseline[1] - used)


def assert_files(volumes, empty):
    expected = list(empty)
    for volume in volumes:
        directory = image(volume).parent
        expected += [str(path.relative_to(POOL)) for path in
                     (directory, directory / "image", directory / "record.json")]
    found = leftovers.tree(POOL)
    assert found == sorted(expected), f"the pool holds {found}, its volumes have {expected}"


def image(volume):
    return POOL / "volumes" / volume.id[-36:] / "image"
