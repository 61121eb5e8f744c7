"""The cost of each call, and the number of whole lives per second."""
from .settings import FILESYSTEMS, LARGE_MIB, SIZE_MIB, WORKERS
from .sides import Samples


def measure(bench, settings, say) -> dict:
    return {"create": _create(bench, settings, say), "steps": _steps(bench, settings, say),
            "large": _large(bench, settings, say),
            "lives": _lives(bench, settings, say), "reads": _reads(bench, settings, say)}


def _create(bench, settings, say) -> dict:
    """Creation and deletion alone, thin and thick."""
    figures = {}
    for kind in ("thin", "thick"):
        say(f"create and delete, {kind}")
        figures[kind] = {
            str(workers): bench.alternate("storage", settings.rounds, workers=workers,
                                          volumes=2 * settings.volumes, thin=kind == "thin",
                                          size_mib=SIZE_MIB["ext4"])
            for workers in WORKERS}
    return figures


def _steps(bench, settings, say) -> dict:
    """Every step of a life, on thick volumes (the default)."""
    figures = {}
    for filesystem in FILESYSTEMS:
        say(f"every step, {filesystem}")
        volumes = settings.volumes if filesystem == "ext4" else settings.large_volumes
        figures[filesystem] = {
            str(workers): bench.alternate("phases", settings.rounds, workers=workers,
                                          volumes=volumes, filesystem=filesystem,
                                          size_mib=SIZE_MIB[filesystem])
            for workers in WORKERS}
    return figures


def _large(bench, settings, say) -> dict:
    """Every step on thin volumes of a realistic size, with which mkfs takes some time."""
    say("every step, large ext4")
    return bench.alternate("phases", settings.rounds, workers=1, volumes=settings.large_volumes,
                           thin=True, size_mib=LARGE_MIB)


def _lives(bench, settings, say) -> dict:
    say("whole lives")
    return {str(workers): bench.alternate("lives", settings.rounds, workers=workers,
                                          volumes=settings.lives, filesystem="ext4",
                                          size_mib=SIZE_MIB["ext4"])["life"]
            for workers in WORKERS}


def _reads(bench, settings, say) -> dict:
    """Calls without a raw counterpart, with 100 volumes there."""
    say("calls that change nothing")
    kept = {"volumes": 100, "size_mib": 16, "thin": True, "prefix": "kept"}
    bench.driver("create", **kept)
    figures = {}
    for workers in WORKERS:
        result = bench.driver("reads", volumes=40 * settings.volumes, workers=workers, page=100)
        figures[str(workers)] = _summary(result)
    bench.driver("storage", **kept)
    return figures


def _summary(result: dict) -> dict:
    samples = Samples()
    samples.add("driver", result)
    return samples.summary()
