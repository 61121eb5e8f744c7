"""The common parts of all benchmark pages: tables, targets, and the description of the machine."""
from . import machine


def table(head: list[str], lines: list[list[str]]) -> str:
    align = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, align, *lines])


def targets(rows) -> str:
    verdict = {True: "yes", False: "**no**", None: "not measured"}
    lines = []
    group = ""
    for row in rows:
        if row.group != group:
            group = row.group
            lines.append([f"**{group}**", "", "", ""])
        lines.append([row.figure, row.target, row.measured, verdict[row.met]])
    head = "| Figure | Target | Measured | Met |\n| --- | --- | --- | --- |\n"
    return head + "\n".join("| " + " | ".join(line) + " |" for line in lines)


def taken(results: dict) -> str:
    facts = results["machine"]
    noise = results["load_before"]
    quiet = ("the machine was quiet" if noise <= machine.QUIET else
             "**the machine was busy with other work: the figures are worse than they should be**")
    kind = "quick run (rough figures)" if results["quick"] else "full run"
    return (f"Taken {results['taken']}, {kind}, {results['seconds']} s: {facts['cpu']}, "
            f"{facts['cores']} cores, {facts['memory_gib']} GiB, {facts['system']}, kernel "
            f"{facts['kernel']}; images on {facts['filesystem']}. Load average before the start: "
            f"{noise} ({quiet}).")
