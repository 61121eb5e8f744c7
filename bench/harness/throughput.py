"""Reading and writing through a thick volume, compared with a plain file beside it, with fio. A
loop device that was set up by hand shows how much of the difference is the kernel's."""
import json
import pathlib
import shutil
import statistics
import subprocess

JOBS = (("randread", "4k"), ("randwrite", "4k"), ("read", "1M"), ("write", "1M"))


def measure(bench, settings, say) -> dict:
    if shutil.which("fio") is None:
        return {"skipped": "fio is not installed"}
    say("throughput")
    mounts = bench.server.directory / "mounts/pods"
    size = settings.fio_size_mib
    # The filesystem in the volume needs some space in addition to the file.
    volumes = {"ext4": {"size_mib": size + size // 4, "prefix": "fio-ext4"},
               "block": {"size_mib": size, "prefix": "fio-block", "block": True}}
    for options in volumes.values():
        bench.driver("hold", volumes=1, **options)
    paths = {"file": bench.place.directory / "fio-file", "ext4": mounts / "fio-ext4-0/file",
             "block": mounts / "fio-block-0"}
    image = bench.place.directory / "fio-loop"
    for path in (paths["file"], paths["ext4"], image):
        subprocess.run(["fallocate", "-l", f"{size}MiB", path], check=True)
    paths["loop"] = pathlib.Path(_attach(image))
    try:
        return _compare(paths, settings)
    finally:
        subprocess.run(["losetup", "-d", paths["loop"]], check=True)
        image.unlink()
        for options in volumes.values():
            bench.driver("release", volumes=1, **options)
        paths["file"].unlink(missing_ok=True)


def _compare(paths: dict[str, pathlib.Path], settings) -> dict:
    for path in paths.values():
        _fio(path, "write", "1M", settings, seconds=None)  # no job meets a block never written
    figures = {}
    for pattern, block_size in JOBS:
        rates = {name: [] for name in paths}
        for number in range(settings.fio_rounds):
            names = list(paths)
            for name in names if number % 2 == 0 else reversed(names):
                rates[name].append(_fio(paths[name], pattern, block_size, settings,
                                        settings.fio_seconds))
        figures[f"{pattern} {block_size}"] = {
            name: round(statistics.mean(values)) for name, values in rates.items()}
    return {"bytes_per_second": figures}


def _attach(image: pathlib.Path) -> str:
    done = subprocess.run(["losetup", "--find", "--show", "--direct-io=on", image],
                          capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _fio(path: pathlib.Path, pattern: str, block_size: str, settings, seconds) -> float:
    """Bytes per second."""
    command = ["fio", "--name=bench", f"--filename={path}", f"--rw={pattern}", f"--bs={block_size}",
               "--direct=1", "--ioengine=libaio", "--iodepth=16", "--randrepeat=1",
               f"--size={settings.fio_size_mib}M", "--output-format=json"]
    if seconds is not None:
        command += ["--time_based", f"--runtime={seconds}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    job = json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]
    return job["write" if "write" in pattern else "read"]["bw_bytes"]
