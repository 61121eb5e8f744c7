"""The figures that have a target, from the results."""
from harness.figures import Row, milliseconds

NAMES = {"create": "CreateVolume", "controller_expand": "ControllerExpandVolume",
         "delete": "DeleteVolume", "capacity": "GetCapacity", "list": "ListVolumes, 10 a page"}
COPIES = {"snapshot": "CreateSnapshot", "restore": "CreateVolume from a snapshot",
          "delete_restored": "DeleteVolume of that", "delete_snapshot": "DeleteSnapshot"}
MOST_OF_LIBRBD = 1.5
MOST_OF_LIBRBD_FOR_COPIES = 1.1
MOST_AT_MANY = 1.5
MOST_MIB = 32


def rows(results: dict) -> list[Row]:
    return (_calls(results) + _copies(results) + _burst(results) + _memory(results)
            + _scale(results))


def _calls(results: dict) -> list[Row]:
    steps = results["latency"]["1"]
    found = []
    for step in ("create", "controller_expand", "delete"):
        raw, driver = (steps[step][side]["p50_us"] for side in ("raw", "driver"))
        found.append(Row("Calls", NAMES[step], f"≤ {MOST_OF_LIBRBD} × librbd",
                         f"{milliseconds(driver)}, librbd {milliseconds(raw)}: "
                         f"{driver / raw:.2f} ×", driver <= MOST_OF_LIBRBD * raw))
    return found


def _copies(results: dict) -> list[Row]:
    found = []
    for step in ("snapshot", "restore"):
        sides = results["copies"]["1"][step]
        raw, driver = (sides[side]["p50_us"] for side in ("raw", "driver"))
        most = MOST_OF_LIBRBD_FOR_COPIES
        found.append(Row("Snapshots", COPIES[step], f"≤ {most} × librbd",
                         f"{milliseconds(driver)}, librbd {milliseconds(raw)}: "
                         f"{driver / raw:.2f} ×", driver <= most * raw))
        raw, driver = (results["copies"]["16"][step][side]["per_second"]
                       for side in ("raw", "driver"))
        found.append(Row("Snapshots", f"{COPIES[step]}, 16 at once", "≥ 0.9 × librbd's rate",
                         f"{driver:.1f} per second, librbd {raw:.1f}: {driver / raw:.2f} ×",
                         driver >= 0.9 * raw))
    return found


def _burst(results: dict) -> list[Row]:
    burst = results["burst"]
    raw, driver = (burst["create"][side]["per_second"] for side in ("raw", "driver"))
    return [Row("Burst", f"{burst['volumes']} creations, {burst['at_once']} at once", "none fails",
                f"{driver:.0f} per second, librbd {raw:.0f}; "
                f"{results['refusals']} calls were refused in the whole run",
                results["refusals"] == 0)]


def _memory(results: dict) -> list[Row]:
    def row(what: str, kibibytes: int) -> Row:
        return Row("Memory", what, f"≤ {MOST_MIB} MiB", f"{kibibytes / 1024:.1f} MiB",
                   kibibytes <= 1024 * MOST_MIB)

    memory = results["memory"]
    return [row("Resident, idle with the libraries loaded", memory["idle"]["VmRSS"]),
            row("After the burst, anonymous", memory["burst"]["RssAnon"]),
            row("After everything, anonymous", memory["many"]["RssAnon"])]


def _scale(results: dict) -> list[Row]:
    few, many = (results["scale"]["volumes"][name] for name in ("few", "many"))
    found = []
    for step, name in NAMES.items():
        at_few, at_many = (results["scale"]["steps"][step][side]["p50_us"]
                           for side in ("few", "many"))
        found.append(Row(f"{many} volumes against {few}", name, f"≤ {MOST_AT_MANY} ×",
                         f"{milliseconds(at_many)} against {milliseconds(at_few)}: "
                         f"{at_many / at_few:.2f} ×", at_many <= MOST_AT_MANY * at_few))
    return found
