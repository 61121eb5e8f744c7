# SPDX-License-Identifier: Apache-2.0
"""Calls of a CO that bench-driver does not make, because they take seconds."""
import pathlib
import time

import content
import csi_client
import grpc

PATIENCE_SECONDS = 300
BETWEEN_CALLS = 0.01


def create(client, name: str, size: int, *, thick=True, source=None, **fields):
    """A raw block volume; repeated, as a CO repeats it, until it is complete."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return client.call(
                "CreateVolume", name=name, capacity_range=csi_client.at_least(size),
                volume_capabilities=[csi_client.capability("block")],
                parameters={"provisioning": "thick" if thick else "thin"},
                volume_content_source=csi_client.content_source(source), **fields).volume
        except grpc.RpcError as error:
            if csi_client.code_of(error) not in csi_client.MAYBE_RUNNING or time.monotonic() > end:
                raise
        time.sleep(BETWEEN_CALLS)


def snapshot(client, volume_id: str, name: str) -> str:
    return client.call("CreateSnapshot", source_volume_id=volume_id,
                       name=name).snapshot.snapshot_id


def delete(client, *ids: str) -> None:
    """Volumes and snapshots; repeated while a background step holds them."""
    for one in ids:
        method, field = (("DeleteSnapshot", "snapshot_id") if one.startswith("s:")
                         else ("DeleteVolume", "volume_id"))
        await_that(lambda: csi_client.outcome(
            lambda: client.call(method, **{field: one})) == "OK", f"{one} cannot be deleted")


def image_of(pool: pathlib.Path, volume_id: str) -> pathlib.Path:
    return pool / "volumes" / volume_id[-36:] / "image"


def fill(pool: pathlib.Path, volume_id: str, size: int) -> None:
    """Writes the volume's bytes, which nothing uses now."""
    image = image_of(pool, volume_id)
    for offset in range(0, size, 64 << 20):
        content.write(image, min(64 << 20, size - offset), offset)


def await_that(condition, problem: str) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(problem)
        time.sleep(BETWEEN_CALLS)
