# SPDX-License-Identifier: Apache-2.0
"""A node's part of each cgroup (version 1) hierarchy, which the node sees as the whole."""

import pathlib

ROOT = pathlib.Path("/sys/fs/cgroup")
# A new cpuset is empty, and no process may enter it then.
INHERITED = ("cpuset.cpus", "cpuset.mems")
JOIN = 'for group in $GROUPS_TO_JOIN; do echo $$ > "$group/cgroup.procs"; done; exec "$@"'


class Cgroups:
    def __init__(self, name):
        """`name` is a path such as run/node."""
        self.name = name
        self.hierarchies = sorted(path.name for path in ROOT.iterdir()
                                  if (path / "cgroup.procs").exists() and not path.is_symlink()
                                  and (path / "tasks").exists())
        for hierarchy in self.hierarchies:
            group = ROOT / hierarchy
            for part in name.split("/"):
                parent, group = group, group / part
                group.mkdir(exist_ok=True)
                for setting in INHERITED:
                    if (group / setting).exists():
                        (group / setting).write_text((parent / setting).read_text())

    @property
    def enter(self):
        """The command that runs the following words in the groups."""
        groups = " ".join(str(ROOT / hierarchy / self.name) for hierarchy in self.hierarchies)
        return ["env", f"GROUPS_TO_JOIN={groups}", "sh", "-c", JOIN, "sh"]

    def mount_commands(self):
        """Returns the shell lines that show a namespace of these groups at the usual places."""
        for hierarchy in self.hierarchies:
            options = "none,name=systemd" if hierarchy == "systemd" else hierarchy
            yield f"umount {ROOT / hierarchy}"
            yield f"mount -t cgroup -o {options} cgroup {ROOT / hierarchy}"

    def clear(self):
        """Removes the groups of containers that are dead."""
        for hierarchy in self.hierarchies:
            top = ROOT / hierarchy / self.name
            for group in sorted(top.rglob("*/"), reverse=True):
                group.rmdir()
