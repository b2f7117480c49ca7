"""Interrupt every operation of the memory at every system call: kill it there, or let the call fail there.

After each interruption the memory is opened again and must be exactly as before the operation or exactly as after it, in
order, with nothing left over; and as after it if the operation was acknowledged. The naive way must fail the same test.

A call is struck by its number among those of the thread that does the operation, counted from where the operation begins. Some 6,000
interruptions; on two quiet cores about ten minutes.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What each call may fail with.
LOOKING, WRITING = "EIO EACCES", "ENOSPC EIO EACCES EROFS EDQUOT"
ERRORS = {
    "open": "ENOSPC EIO EACCES EROFS EMFILE EINTR", "openat": "ENOSPC EIO EACCES EROFS EMFILE EINTR",
    "read": "EIO EINTR", "lseek": "EIO", "getdents64": LOOKING, "fstat": "EIO", "newfstatat": LOOKING, "statx": LOOKING,
    "write": "ENOSPC EIO EDQUOT EINTR", "fsync": "ENOSPC EIO EDQUOT", "fdatasync": "ENOSPC EIO EDQUOT", "ftruncate": "ENOSPC EIO",
    "rename": WRITING, "renameat": WRITING, "renameat2": WRITING, "link": WRITING, "linkat": WRITING,
    "unlink": WRITING, "unlinkat": WRITING, "mkdir": WRITING, "mkdirat": WRITING,
    "chmod": WRITING, "fchmod": WRITING, "utimensat": WRITING, "flock": "EIO EINTR ENOLCK",
}
OPERATIONS = ["new", "overwrite", "remove", "together", "tainted", "undo", "open"]


def build() -> str:
    command = ["cargo", "test", "-p", "scrubjay", "--test", "store", "--no-run", "--message-format=json"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    found = [json.loads(line).get("executable") for line in lines if '"executable"' in line]
    return [path for path in found if path and "/store-" in path][-1]


class Bench:
    """A memory that is put back to its beginning for each interruption."""

    def __init__(self, program: str, room: pathlib.Path, seed: pathlib.Path):
        self.program, self.data, self.seed, self.log = program, room / "data", seed, room / "strace.log"

    def reset(self) -> None:
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.copytree(self.seed, self.data)

    def run(self, job: str, name: str, wrap: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
        env = dict(os.environ, CHILD_DATA=str(self.data), CHILD_JOB=job, CHILD_NAME=name, CHILD_COUNT="3", RUST_BACKTRACE="0")
        command = [*wrap, self.program, "processes::child", "--exact", "--nocapture", "--test-threads=1"]
        return subprocess.run(command, env=env, capture_output=True, text=True)

    def traced(self, operation: str, *wishes: str) -> subprocess.CompletedProcess:
        """Run an operation under strace; what it saw is in the log."""
        self.log.unlink(missing_ok=True)
        wrap = ["strace", "-f", "-qq", "-o", str(self.log)] + [word for wish in wishes for word in ("-e", wish)]
        return self.run("once", operation, tuple(wrap))

    def look(self) -> dict[str, str] | None:
        ran = self.run("look", "look")
        if "looked" not in ran.stdout:
            return None
        return dict(line.split(" ", 2)[1:] for line in ran.stdout.splitlines() if line.startswith("file "))

    def calls(self, operation: str) -> dict[str, range]:
        """The numbers of each call that belong to an operation, in the thread that does it."""
        self.reset()
        self.traced(operation, "trace=" + ",".join(ERRORS))
        before, after, others = collections.Counter(), collections.Counter(), collections.defaultdict(collections.Counter)
        lines = re.findall(r"^(\d+) +(\w+)\((.*)", self.log.read_text(), re.MULTILINE)
        worker = next(thread for thread, call, rest in lines if call == "write" and "begins" in rest)
        counter = before
        for thread, call, rest in lines:
            if thread != worker:
                others[thread][call] += 1
                continue
            counter[call] += 1
            if call == "write" and "begins" in rest:
                counter = after
        for call in after:
            assert all(one[call] <= before[call] for one in others.values()), f"another thread calls {call} as often"
        return {call: range(before[call] + 1, before[call] + count + 1) for call, count in after.items()}


def seeded(program: str, room: pathlib.Path) -> pathlib.Path:
    """Three memories, words of a person in the index, and an edit by hand that the engine has not seen yet."""
    seed, empty = room / "seed", room / "empty"
    empty.mkdir()
    bench = Bench(program, room, empty)
    bench.reset()
    assert "acked m_2.md" in bench.run("save", "m").stdout
    memory = next(bench.data.glob("projects/*/memory"))
    for n in range(3):
        (memory / f"m_{n}.md").rename(memory / f"m{n}.md")
    index = memory / "MEMORY.md"
    index.write_text("Words of a person.\n" + index.read_text())
    assert bench.look() is not None
    index.write_text(index.read_text() + "More words, not seen by the engine yet.\n")
    edited = memory / "m2.md"
    edited.write_text(edited.read_text().replace("description: d", "description: edited by hand"))
    shutil.copytree(bench.data, seed)
    return seed


def interrupt(bench: Bench, operation: str, inject: str, before: dict, after: dict) -> str | None:
    """Run an operation with one interruption. What is wrong, `None` if nothing, or `missed` if nothing was interrupted."""
    bench.reset()
    ran = bench.traced(operation, f"trace={inject.split(':')[0]}", f"inject={inject}")
    killed = ran.returncode in (-9, 137)
    if not killed and "(INJECTED)" not in bench.log.read_text():
        return "missed"
    answered = f"acked {operation}" in ran.stdout or "refused" in ran.stdout
    if not killed and not answered:
        return f"it neither did it nor said why not: {ran.stderr[-300:]}"
    found = bench.look()
    if found is None:
        return "it cannot be opened, or is not in order"
    if any(name.startswith(".scrubjay") for name in found):
        return "something is left over"
    if f"acked {operation}" in ran.stdout and found != after:
        return "it was acknowledged and is not there"
    if found not in (before, after):
        return f"it is neither as before nor as after: {sorted(found)}"
    return None


def sweep(bench: Bench, operation: str, ways: dict[str, list[str]]) -> tuple[int, list[str]]:
    bench.reset()
    before = bench.look()
    bench.reset()
    assert f"acked {operation}" in bench.run("once", operation).stdout, operation
    after = bench.look()
    runs, wrong = 0, []
    for call, numbers in bench.calls(operation).items():
        for way in ways[call]:
            for n in numbers:
                fault = interrupt(bench, operation, f"{call}:{way}:when={n}", before, after)
                runs += fault != "missed"
                if fault and fault != "missed":
                    wrong.append(f"{operation}, {way} at {call} {n - numbers.start + 1}: {fault}")
    return runs, wrong


def sweep_naively(bench: Bench) -> tuple[int, list[str]]:
    """The same for a program that writes in place; it is looked at as it lies there, without repair."""
    memory = lambda: next(bench.data.glob("projects/*/memory"))
    files = lambda: {path.name: path.read_bytes() for path in memory().iterdir()}
    bench.reset()
    before = files()
    bench.run("once", "naive")
    after, runs, wrong = files(), 0, []
    numbers = bench.calls("naive")
    for call in ["openat", "write"]:
        for n in numbers[call]:
            bench.reset()
            bench.traced("naive", f"inject={call}:signal=KILL:when={n}")
            runs += 1
            if files() not in (before, after):
                wrong.append(f"{call} {n}")
    return runs, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", nargs="*", default=OPERATIONS)
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="operations that are tried at the same time")
    options = parser.parse_args()
    if not shutil.which("strace"):
        print("strace is not here; nothing was tried")
        return 1
    built, bad = build(), 0
    # Where there is memory to write to: what is tried are processes that end, not disks.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="scrubjay-faults-", dir=place) as held:
        room = pathlib.Path(held)
        # A copy, so that the next build does not change what is being tried.
        program = shutil.copy(built, room / "store")
        seed = seeded(program, room)

        def swept(operation: str, title: str, ways: dict[str, list[str]]) -> tuple[str, int, list[str]]:
            own = room / f"{operation}-{title}"
            own.mkdir()
            return operation, *sweep(Bench(program, own, seed), operation, ways)

        kills = {call: ["signal=KILL"] for call in ERRORS}
        errors = {call: [f"error={error}" for error in known.split()] for call, known in ERRORS.items()}
        for title, ways in [("killed", kills), ("refused", errors)]:
            total = 0
            with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
                for operation, runs, wrong in pool.map(lambda one: swept(one, title, ways), options.operations):
                    total, bad = total + runs, bad + len(wrong)
                    print(f"{operation:10} {title} at {runs:5} points, {len(wrong)} wrong", flush=True)
                    print("".join(f"    {line}\n" for line in wrong), end="", flush=True)
            print(f"{title}: {total} points; if none is wrong, fewer than {300 / max(total, 1):.2f} % are, at 95 %", flush=True)
        runs, wrong = sweep_naively(Bench(program, room, seed))
        print(f"the naive way, killed at {runs} points: {len(wrong)} wrong")
        if not wrong:
            print("the naive way passed: this test would not notice")
            bad += 1
    return 1 if bad else 0


sys.exit(main())
