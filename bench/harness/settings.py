"""How much is measured: the default run, and the quick one."""
import dataclasses

WORKERS = (1, 4, 16)
FILESYSTEMS = ("ext4", "xfs", "btrfs")
SIZE_MIB = {"ext4": 64, "xfs": 300, "btrfs": 256}  # the minimum of each, or 64
LARGE_MIB = 10 * 1024


@dataclasses.dataclass(frozen=True)
class Settings:
    rounds: int  # raw and driver alternate; the first of them changes every round
    volumes: int  # per round
    large_volumes: int  # per round, for filesystems with large volumes
    lives: int  # per round
    staged: int
    cycles: int
    many: int
    scale_rounds: int
    fio_seconds: int
    fio_rounds: int
    fio_size_mib: int


FULL = Settings(rounds=6, volumes=32, large_volumes=16, lives=64, staged=100, cycles=10_000,
                many=10_000, scale_rounds=4, fio_seconds=4, fio_rounds=2, fio_size_mib=1024)
QUICK = Settings(rounds=2, volumes=16, large_volumes=16, lives=32, staged=100, cycles=1_000,
                 many=1_000, scale_rounds=2, fio_seconds=1, fio_rounds=2, fio_size_mib=256)
