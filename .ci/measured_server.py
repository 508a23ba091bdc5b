"""A release server with a processor of its own, and the latencies of posts to it.

Clients and crowds of an experiment run on the machine of the server. What they would not share if they were
elsewhere is kept apart:

- The server has processor 0, with one event loop.
- Everything else has processor 1. The client that measures has a real-time priority there, so it waits for no
  crowd, which has what is left.
- Linux gives each session of processes (setsid(2)) an equal part of a processor, whatever priorities the
  processes have among themselves (sched(7), autogroups). So the server has a session of its own, and its session
  and that of the crowd come before those of other work on the machine.
- The server has a short slice (sched_setattr(2)), so that it does not wait for long slices of other programs.

What remains: the kernel delivers packets of loopback in the context of their sender; builds beside it raise the
p99 without a crowd; and real-time programs of others come before the server, so that rounds beside them show
nothing. Needs two processors, and the right to set a real-time priority.
"""
import ctypes
import json
import os
import pathlib
import resource
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).parent.parent
RELEASE = ROOT / ".build/release"
SERVER_PROCESSOR, CLIENT_PROCESSOR = 0, 1


def as_server(command):
    return ["taskset", "-c", str(SERVER_PROCESSOR), *map(str, command)]


def as_client(command):
    return ["taskset", "-c", str(CLIENT_PROCESSOR), "chrt", "--rr", "1", *map(str, command)]


def as_crowd(command):
    return ["taskset", "-c", str(CLIENT_PROCESSOR), "nice", "-n", "5", *map(str, command)]


def favour(pid, nice):
    """Sets the priority of the process's session against other sessions."""
    path = pathlib.Path(f"/proc/{pid}/autogroup")
    if path.exists():
        path.write_text(str(nice))


def shorten_slice(pid):
    """Gives the process, and what it starts, slices of 0.1 ms (sched_setattr(2), Linux 6.12)."""
    # size, policy, flags, nice, priority, runtime, deadline, period
    attributes = struct.pack("=IIQiIQQQ", 48, 0, 0, 0, 0, 100_000, 0, 0)
    numbers = {"x86_64": 314, "aarch64": 274}
    if (number := numbers.get(os.uname().machine)) is not None:
        ctypes.CDLL(None, use_errno=True).syscall(number, pid, attributes, 0)


def prepare(*tools):
    """Checks what the experiment needs, and makes this process a part of the crowd."""
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("error: two processors are needed: the server's and that of its clients")
    for tool in ("taskset", "chrt", *tools):
        if shutil.which(tool) is None:
            sys.exit(f"error: {tool} is missing: apt-get install util-linux {' '.join(tools)}")
    if subprocess.run(["chrt", "--rr", "1", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        sys.exit("error: no right to set a real-time priority (CAP_SYS_NICE)")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if os.getpid() != os.getsid(0):
        # A leader of a process group, such as a command of a shell's, cannot begin a session.
        if os.getpid() == os.getpgid(0):
            os.execvp("setsid", ["setsid", "--wait", sys.executable, *sys.argv])
        os.setsid()
    favour("self", -10)
    os.sched_setaffinity(0, {CLIENT_PROCESSOR})


def add_arguments(parser):
    parser.add_argument("--server", default=RELEASE / "reactor-server")
    parser.add_argument("--bench", default=RELEASE / "reactor-bench")


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def request(url, method, path, body=None):
    """The status of the response; None if there is none."""
    asked = urllib.request.Request(
        url + path, method=method, data=body and json.dumps(body).encode(),
        headers={"Content-Type": "application/json"} if body else {})
    try:
        with urllib.request.urlopen(asked, timeout=10) as response:
            response.read()
            return response.status
    except OSError:
        return None


def wait_until_ready(url):
    for _ in range(500):
        if request(url, "GET", "/readyz") == 200:
            return
        time.sleep(0.02)
    sys.exit("error: the server does not start")


class Server:
    """A server in memory with its defaults, but for one loop and `words`."""

    def __init__(self, program, folder, *words):
        self.port = free_port()
        self.log_path = folder / "server.log"
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(
                as_server([program, "--port", self.port, "--journal", "memory", "--loops", 1,
                           "--log-level", "error", *words]),
                stdout=subprocess.DEVNULL, stderr=log, start_new_session=True,
                preexec_fn=lambda: shorten_slice(0))
        favour(self.process.pid, -20)
        self.url = f"http://127.0.0.1:{self.port}"
        wait_until_ready(self.url)

    def request(self, method, path, body=None):
        return request(self.url, method, path, body)

    def metrics(self):
        """The samples of /metrics by name and labels, without the prefix `reactor_`."""
        with urllib.request.urlopen(self.url + "/metrics", timeout=30) as response:
            lines = response.read().decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line.startswith("reactor_"))
        return {name.removeprefix("reactor_"): float(value) for name, value in pairs}

    @property
    def rss(self):
        """Resident memory in MiB."""
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024

    @property
    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    @property
    def processor_seconds(self):
        return (int(self.stat[11]) + int(self.stat[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def page_faults(self):
        return int(self.stat[7]) + int(self.stat[9])

    @property
    def stat(self):
        """The fields of proc_pid_stat(5) behind the name, from 0."""
        return pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()

    def ends_well(self):
        """Ends the server; returns whether it was alive and reported no error by its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
            if self.process.wait(60) == 0:
                return True
        print("error: the server did not end well:", self.log_path.read_text()[-2000:])
        return False


def posts(bench, server, seconds, *words):
    """Posts for a time: latencies in microseconds, posts per second (`rate`), and a list of problems."""
    run = subprocess.run(
        as_client([bench, "requests", "--json", "--url", server.url, "--duration", f"{seconds}s", *words]),
        capture_output=True, text=True)
    if not run.stdout.startswith("{"):
        return {}, [run.stderr.strip()[-300:] or "no report"]
    report = json.loads(run.stdout)
    scale = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}
    found = {}
    for name, figure in report["figures"].items():
        last = name.rsplit(" ", 1)[-1]
        if name == "requests per second":
            found["rate"] = figure["value"]
        elif last in ("p50", "p99", "max"):
            found[last] = figure["value"] * scale.get(figure["unit"], 1)
    return found, report["problems"]


def spread(values, digits=0):
    """The median, and the least and the greatest value."""
    if not values:
        return "–"
    return (f"{statistics.median(values):.{digits}f} "
            f"({min(values):.{digits}f}–{max(values):.{digits}f})")
