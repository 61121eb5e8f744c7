# SPDX-License-Identifier: Apache-2.0
"""Debian packages: which package owns a file, the archive's newest versions, a package's files."""

import dataclasses
import hashlib
import pathlib
import subprocess

FIELDS = ("Package", "Version", "Architecture", "Source", "Maintainer", "Homepage")


@dataclasses.dataclass(frozen=True)
class Package:
    """dpkg's information about a package; for an unpacked one also its directory and digest."""
    name: str
    version: str
    architecture: str
    source: str
    maintainer: str
    homepage: str
    sha256: str = ""
    root: pathlib.Path | None = None

    def find(self, path):
        """Returns the unpacked file of an absolute path, before or after the merge of /usr."""
        for candidate in both_spellings(path):
            file = self.root / candidate.lstrip("/")
            if file.is_symlink() or file.exists():
                return file
        return None


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def both_spellings(path):
    """Debian 12 installs /usr/sbin/x and lists it as /sbin/x, or the other way round."""
    bare = path.removeprefix("/usr")
    return (bare, f"/usr{bare}")


def owners(paths):
    """Maps each path to the name of the installed package that it belongs to."""
    spellings = {spelling: path for path in paths for spelling in both_spellings(path)}
    # It fails if it does not know a path, but still prints the owners that it knows.
    said = subprocess.run(["dpkg-query", "--search", *spellings], text=True, capture_output=True,
                          check=False).stdout
    found = {}
    for line in said.splitlines():
        package, _, spelling = line.partition(": ")
        found[spellings[spelling]] = package.split(":")[0]
    if missing := sorted(set(paths) - set(found)):
        raise SystemExit(f"image: no installed package owns {', '.join(missing)}; run make deps")
    return found


def architecture():
    return output("dpkg", "--print-architecture").strip()


def installed(names):
    """Returns dpkg's information about packages of this host."""
    layout = "\t".join(f"${{{field}}}" for field in FIELDS) + "\n"
    said = output("dpkg-query", "--show", f"--showformat={layout}", *names) if names else ""
    return [described(line.split("\t")) for line in said.splitlines()]


def apt_get(directory, *words):
    """Runs apt-get on separate lists: the host's lists may be old or missing, and are not changed."""
    (directory / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    options = {"Dir::State::Lists": directory / "lists", "Dir::Cache": directory / "cache",
               # As root, apt would switch to its own user, which cannot write here.
               "APT::Sandbox::User": "root"}
    settings = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    done = subprocess.run(["apt-get", "-qq", *settings, *words], cwd=directory,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"image: apt-get {words[0]} failed; are the package sources of this host "
                         f"right, and can they be reached? {done.stderr.strip()}")


def download(names, directory):
    """Fetches the newest version of each package, checked against the archive's signatures."""
    directory.mkdir(parents=True)
    apt_get(directory, "update")
    apt_get(directory, "download", *sorted(names))
    return sorted(directory.glob("*.deb"))


def unpack(archive, directory):
    """Unpacks one archive; its maintainer scripts are not run."""
    values = [output("dpkg-deb", "--field", archive, field).strip() for field in FIELDS]
    root = directory / values[0]
    root.mkdir(parents=True)
    subprocess.run(["dpkg-deb", "--extract", archive, root], check=True)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return dataclasses.replace(described(values), sha256=digest, root=root)


def described(values):
    """Creates a package from the values of FIELDS; the source is named only if it differs."""
    package = Package(*values)
    return dataclasses.replace(package, source=package.source or package.name)
