# SPDX-License-Identifier: Apache-2.0
"""A one-node Ceph in a directory: monitor, manager, object store in memory.

Everything is below the directory and on loopback, or on another address that is given; the host's
own Ceph, if it has one, is not read. CephDaemons has the processes, which end with it; Ceph has the
operations that any process can use."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import time
import uuid

PROGRAMS = ("ceph-mon", "ceph-osd", "ceph-mgr", "ceph-authtool", "monmaptool", "ceph", "rbd",
            "rados")
POOL = "rbd"
UP_SECONDS = 120
STORE_BYTES = 2 << 30
BLOCK_BYTES = 1 << 30  # of a store on disk
CONFIGURATION = """[global]
fsid = {fsid}
mon_host = [v2:{address}:{v2},v1:{address}:{v1}]
public_addr = {address}
cluster_addr = {address}
auth_cluster_required = cephx
auth_service_required = cephx
auth_client_required = cephx
keyring = {directory}/keyring
run_dir = {directory}/run
admin_socket = {directory}/run/$name.asok
log_file = {directory}/log/$name.log
pid_file = {directory}/run/$name.pid
crash_dir = {directory}/log
osd_crush_chooseleaf_type = 0
osd_crush_update_on_start = false
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 8
osd_pool_default_pg_autoscale_mode = off
mon_allow_pool_size_one = true
mon_allow_pool_delete = true
mon_data_avail_crit = 1
mon_data_avail_warn = 2
mon_warn_on_pool_no_redundancy = false
# A read lease is part of this. A lone store that stood still for longer than its lease would never
# serve again ("laggy"): it has no peer with which to renew it.
osd_heartbeat_grace = 3600
# A dead client's watch ends sooner than in the half minute of the default.
osd_client_watch_timeout = {watch_timeout}
[mon.a]
mon_data = {directory}/mon
[osd.0]
osd_data = {directory}/osd
osd_objectstore = {store}
memstore_device_bytes = {store_bytes}
# Its memory is written to osd_data when it ends in order.
osd_fast_shutdown = false
bluestore_block_size = {block_bytes}
bluestore_cache_autotune = false
bluestore_cache_size = 67108864
osd_class_load_list = *
osd_class_default_list = *
[mgr.x]
mgr_data = {directory}/mgr
mgr_initial_modules =
"""


def what_is_missing():
    """Returns why there can be no cluster here, with the remedy; or None."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if not missing:
        return None
    return f"{', '.join(missing)} missing: run scripts/install-deps ceph"


def free_ports():
    """Two neighbours, for the two protocols of a monitor."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
                return port, port + 1
            except OSError:
                continue


def daemon_command(daemon, configuration):
    """Runs a daemon, in the foreground, until its parent ends."""
    kind, _, name = daemon.partition(".")
    return ["setpriv", "--pdeathsig", "KILL", f"ceph-{kind}", "-f", "-c", str(configuration), "-i",
            name]


class Ceph:
    """A cluster that runs in a directory."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.configuration = self.directory / "ceph.conf"
        self.keyring = self.directory / "keyring"

    @property
    def monitors(self):
        return (self.directory / "monitors").read_text()

    def pid(self, daemon):
        """Of "mon.a", "osd.0" or "mgr.x"; 0 while it starts."""
        return int((self.directory / "run" / f"{daemon}.pid").read_text() or "0")

    def signal(self, daemon, number):
        os.kill(self.pid(daemon), number)

    def make_pool(self, name):
        self.ceph("osd", "pool", "create", name, "8", "8")
        self.ceph("osd", "pool", "application", "enable", name, "rbd")
        self.run("rbd", "-c", self.configuration, "pool", "init", name)

    def make_user(self, name, *caps):
        """Makes client.<name> with (service, cap) pairs and returns the path of its keyring."""
        words = [word for cap in caps for word in cap]
        path = self.directory / f"{name}.keyring"
        path.write_text(self.ceph("auth", "get-or-create", f"client.{name}", *words, plain=True))
        return path

    # Asking it.

    def ceph(self, *words, plain=False):
        form = [] if plain else ["--format", "json"]
        return self.run("ceph", "-c", self.configuration, *words, *form)

    def try_ceph(self, *words):
        try:
            return self.run("ceph", "-c", self.configuration, "--connect-timeout", "3", *words)
        except AssertionError:
            return None

    def rbd(self, *words):
        return self.run("rbd", "-c", self.configuration, *words)

    def images(self, pool=POOL):
        return json.loads(self.rbd("ls", "--format", "json", pool))

    def image_info(self, image, pool=POOL):
        return json.loads(self.rbd("info", "--format", "json", f"{pool}/{image}"))

    def image_bytes(self, image, pool=POOL):
        return self.image_info(image, pool)["size"]

    def cluster_id(self):
        return json.loads(self.ceph("fsid"))["fsid"]

    def pool_id(self, pool=POOL):
        return next(one["poolnum"] for one in json.loads(self.ceph("osd", "lspools"))
                    if one["poolname"] == pool)

    def watch(self, image, pool=POOL):
        """Opens an image as a client does that uses it; returns its process."""
        watch = subprocess.Popen(
            ["rbd", "-c", self.configuration, "watch", f"{pool}/{image}"],
            stdin=subprocess.PIPE,  # it would end on input
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self.watchers(image, pool):
            assert watch.poll() is None, "rbd watch ended"
            time.sleep(0.05)
        return watch

    def watchers(self, image, pool=POOL):
        status = json.loads(self.rbd("status", "--format", "json", f"{pool}/{image}"))
        return [watcher["address"] for watcher in status["watchers"]]

    def rados(self, *words, pool=POOL):
        return self.run("rados", "-c", self.configuration, "-p", pool, *words)

    def available_bytes(self, pool=POOL):
        pools = json.loads(self.ceph("df"))["pools"]
        return next((one["stats"]["max_avail"] for one in pools if one["name"] == pool), 0)

    def clients(self):
        """Addresses of the clients that have a session with the monitor."""
        sessions = json.loads(self.run("ceph", "--admin-daemon",
                                       self.directory / "run" / "mon.a.asok", "sessions"))
        addresses = [session["addrs"]["addrvec"][0] for session in sessions
                     if session["entity_name"].startswith("client.")]
        return [f"{address['addr']}/{address['nonce']}" for address in addresses]

    def run(self, *command):
        done = subprocess.run([str(word) for word in command], check=False, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, "CEPH_ARGS": ""})
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout


class CephDaemons(Ceph):
    """The processes of a cluster, with a pool for RBD images named POOL."""

    def __init__(self, directory, watch_timeout=30, store="memstore", address="127.0.0.1"):
        """Of the stores, memstore is fast and bluestore outlives a power cut."""
        super().__init__(directory)
        for name in ("mon", "osd", "mgr", "run", "log"):
            (self.directory / name).mkdir(parents=True)
        self.fsid = str(uuid.uuid4())
        v2_port, v1_port = free_ports()
        (self.directory / "monitors").write_text(f"{address}:{v1_port}")
        self.addresses = f"[v2:{address}:{v2_port},v1:{address}:{v1_port}]"
        self.configuration.write_text(CONFIGURATION.format(
            fsid=self.fsid, address=address, v1=v1_port, v2=v2_port, directory=self.directory,
            store=store, store_bytes=STORE_BYTES,
            block_bytes=BLOCK_BYTES, watch_timeout=watch_timeout))
        self.processes = {}

    def start(self, manager=True):
        """Without a manager the cluster has no statistics, and is up sooner."""
        self.make_keys()
        self.run("monmaptool", "--create", "--addv", "a", self.addresses, "--fsid", self.fsid,
                 self.directory / "monmap")
        self.run("ceph-mon", "-c", self.configuration, "-i", "a", "--mkfs", "--monmap",
                 self.directory / "monmap", "--keyring", self.keyring)
        self.launch("mon.a")
        self.until(lambda: self.try_ceph("quorum_status") is not None, "the monitor has no quorum")
        number = str(uuid.uuid4())
        self.ceph("osd", "new", number)
        self.ceph("auth", "import", "-i", self.keyring)
        self.run("ceph-osd", "-c", self.configuration, "-i", "0", "--mkfs", "--osd-uuid", number,
                 "--keyring", self.keyring)
        self.ceph("osd", "crush", "add", "osd.0", "1", "root=default", "host=localhost")
        self.launch("osd.0")
        if manager:
            self.launch("mgr.x")
        self.until(lambda: json.loads(self.ceph("osd", "stat"))["num_up_osds"] == 1,
                   "the object store does not come up")
        self.make_pool(POOL)
        return self

    def make_keys(self):
        def add(name, *caps):
            words = [word for cap in caps for word in ("--cap", *cap)]
            self.run("ceph-authtool", self.keyring, "--gen-key", "-n", name, *words)
        self.run("ceph-authtool", "--create-keyring", self.keyring)
        add("mon.", ("mon", "allow *"))
        add("client.admin", ("mon", "allow *"), ("osd", "allow *"), ("mgr", "allow *"))
        add("osd.0", ("mon", "allow profile osd"), ("osd", "allow *"), ("mgr", "allow profile osd"))
        add("mgr.x", ("mon", "allow profile mgr"), ("osd", "allow *"))

    def launch(self, daemon):
        with open(self.directory / "log" / f"{daemon}.out", "ab") as log:
            self.processes[daemon] = subprocess.Popen(
                daemon_command(daemon, self.configuration), stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True)

    def launch_what_ended(self):
        """A test may have killed a daemon, as a restart does."""
        for daemon, process in list(self.processes.items()):
            if process.poll() is not None:
                self.launch(daemon)

    def rest(self):
        """Ends the daemons in order; if started again, they continue from their directories."""
        for daemon in ("osd.0", "mon.a"):
            self.processes[daemon].terminate()
            self.processes[daemon].wait()
        self.forget_daemons()

    def cut_power(self):
        """Ends the daemons at once; if started again, they have what they synced."""
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.forget_daemons()

    def forget_daemons(self):
        self.processes.clear()
        for leftover in (self.directory / "run").iterdir():
            leftover.unlink()

    def stop(self):
        self.cut_power()
        shutil.rmtree(self.directory, ignore_errors=True)

    def until(self, condition, problem):
        deadline = time.monotonic() + UP_SECONDS
        while not condition():
            for daemon, process in self.processes.items():
                assert process.poll() is None, f"{daemon} ended: {self.tail(daemon)}"
            assert time.monotonic() < deadline, problem
            time.sleep(0.05)

    def tail(self, daemon):
        return (self.directory / "log" / f"{daemon}.out").read_text(errors="replace")[-2000:]
