"""The cost of a volume in Ceph, next to librbd's own calls in the same cluster."""
import dataclasses
import functools

from harness import sides
from harness.server import Server

WORKERS = (1, 4, 16)
# Volumes a round, by callers. A monitor makes the snapshots of all callers at its next tick, up to
# a second later: a single wave would measure when it began.
COPIES = {1: 16, 16: 128}
USER = "holdfast"
SIZE_MIB = 1024  # nothing is written to the images, so they take no space
AT_ONCE = 100  # csi-provisioner's own limit; the driver refuses more than 128 calls for a pool
FEW = "few"  # a separate pool, which stays almost empty


@dataclasses.dataclass(frozen=True)
class Settings:
    rounds: int
    volumes: int  # per round
    burst: int  # creations, AT_ONCE at a time
    many: int
    scale_rounds: int
    copy_rounds: int


FULL = Settings(rounds=6, volumes=32, burst=250, many=5_000, scale_rounds=4, copy_rounds=3)
QUICK = Settings(rounds=2, volumes=16, burst=250, many=500, scale_rounds=2, copy_rounds=2)


class Bench:
    """Both programs, the cluster that they share, and how drivers are started on it."""

    def __init__(self, binary, place, cluster):
        self._binary = binary
        self._tools = binary.parent / "bench"
        self._place = place
        self._cluster = cluster
        cluster.make_pool(FEW)
        self._keyring = cluster.make_user(USER, ("mon", "profile rbd"),
                                          ("osd", f"profile rbd pool=rbd, profile rbd pool={FEW}"))
        self.refusals = 0

    def server(self, name, ceph_pool=None) -> Server:
        """A started driver with a pool of files, or in the Ceph pool."""
        pool = (f"bench=rbd:{ceph_pool},monitors={self._cluster.monitors},user={USER},"
                f"keyring={self._keyring}") if ceph_pool else ""
        server = Server(self._binary, self._tools / "bench-driver", self._place, name, pool)
        server.start()
        return server

    def raw(self, scenario, **options) -> dict:
        return sides.run(self._tools / "bench-raw-rbd", scenario, self._cluster.directory,
                         size_mib=SIZE_MIB, prefix="raw", **options)

    def driver(self, server, scenario, **options) -> dict:
        result = sides.run(self._tools / "bench-driver", scenario, server.directory / "mounts",
                           socket=server.socket, size_mib=SIZE_MIB, thin=True, block=True,
                           **options)
        self.refusals += result["refusals"]
        return result


def everything(bench: Bench, settings: Settings, say) -> dict:
    say("memory without Ceph")
    files = bench.server("files")
    memory = {"files": _idle(bench, files)}
    files.stop()
    server = bench.server("many", "rbd")
    memory["idle"] = _idle(bench, server)
    latency = {}
    for workers in WORKERS:
        say(f"create, expand, delete, {workers} at a time")
        latency[str(workers)] = _alternate(bench, server, "images", settings.rounds,
                                           volumes=settings.volumes, workers=workers)
    copies = {}
    for workers, volumes in COPIES.items():
        say(f"snapshots and clones, {workers} at a time")
        copies[str(workers)] = _alternate(bench, server, "image_copies", settings.copy_rounds,
                                          volumes=volumes, workers=workers)
    memory["worked"] = server.status()
    say(f"{settings.burst} creations, {AT_ONCE} at once")
    burst = _alternate(bench, server, "storage", 1, volumes=settings.burst, workers=AT_ONCE)
    memory["burst"] = server.status()
    scale = _scale(bench, server, settings, say)
    memory["many"] = server.status()
    return {"memory": memory, "latency": latency, "copies": copies,
            "burst": {"volumes": settings.burst, "at_once": AT_ONCE, **burst},
            "scale": scale, "refusals": bench.refusals}


def _idle(bench, server) -> dict:
    bench.driver(server, "reads", volumes=4, page=10)
    return server.status()


def _alternate(bench, server, scenario, rounds, **options) -> dict:
    """Each round begins with the other side, so that a noisy moment hits both."""
    samples = sides.Samples()
    calls = {"raw": bench.raw, "driver": functools.partial(bench.driver, server)}
    for number in range(rounds):
        order = list(calls.items())
        for side, call in order if number % 2 == 0 else reversed(order):
            samples.add(side, call(scenario, **options))
    return samples.summary()


def _scale(bench, server, settings, say) -> dict:
    """The same calls in a pool with many volumes and in one with ten."""
    say(f"10 against {settings.many} volumes")
    servers = {"few": bench.server("few", FEW), "many": server}
    counts = {"few": 10, "many": settings.many}
    for name, one in servers.items():
        bench.driver(one, "create", workers=16, volumes=counts[name], prefix="kept")
    samples = sides.Samples()
    for number in range(settings.scale_rounds):
        order = list(servers.items())
        for name, one in order if number % 2 == 0 else reversed(order):
            samples.add(name, bench.driver(one, "images", volumes=settings.volumes))
            samples.add(name, bench.driver(one, "reads", volumes=settings.volumes, page=10))
    servers["few"].stop()
    return {"volumes": counts, "steps": samples.summary()}
