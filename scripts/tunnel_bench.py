"""What the benchmarks of `anabranch tunnel` share: programs that run meanwhile, configuration files, one connection of iperf3, and the table."""

import contextlib
import json
import statistics
import subprocess
import sys
import tempfile

PORT = 5201
# Whether the far end sends, and the heading of the column.
DIRECTIONS = {True: "download", False: "upload"}


@contextlib.contextmanager
def running(command, ready=None):
    """A program that has written a line with `ready`, if that is given. Its errors are shown if it ends before."""
    output = subprocess.PIPE if ready else subprocess.DEVNULL
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(command, stdout=output, stderr=log, text=True) as program:
        try:
            said = []
            while ready and not (said and ready in said[-1]):
                said.append(program.stdout.readline())
                if not said[-1]:
                    log.seek(0)
                    sys.exit(f"{command} ended before it said {ready}:\n{''.join(said)}{log.read()}")
            yield
        finally:
            program.terminate()


def replace(file, before, after):
    """Replaces `before` in the file, where it occurs first."""
    text = file.read_text()
    assert before in text, f"{file} has no {before!r}"
    file.write_text(text.replace(before, after, 1))


def iperf3_server(host):
    """iperf3's server on a host: a command prefix that runs programs there."""
    return running([*host, "iperf3", "--server", "--port", str(PORT), "--forceflush"], ready="listening on")


def iperf3(host, target, seconds, download, omit=0):
    """Bits per second that one TCP connection from a host to `target` carries."""
    command = [*host, "iperf3", "--client", target, "--port", str(PORT), "--json"]
    command += ["--time", str(seconds), "--omit", str(omit), *["--reverse"] * download]
    done = subprocess.run(command, capture_output=True, text=True)
    results = json.loads(done.stdout)
    if done.returncode or "error" in results:
        sys.exit(f"iperf3 to {target}: {results.get('error')}")
    return results["end"]["sum_received"]["bits_per_second"]


def show(rates, unit, reference):
    """Prints the median of each row and direction in `rates`, and its ratio to `reference` of all medians and the direction."""
    medians = {key: statistics.median(measured) for key, measured in rates.items()}
    print(f"{'':24}" + "".join(f"{heading:>16}" for heading in DIRECTIONS.values()))
    for name in dict.fromkeys(name for name, _ in rates):
        ratios = {download: medians[name, download] / reference(medians, download) for download in DIRECTIONS}
        cells = (f"{medians[name, download] / unit:8.2f} ({ratios[download]:5.2f})" for download in DIRECTIONS)
        print(f"{name:24}" + "".join(cells))
