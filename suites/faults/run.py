"""Interrupt every operation of the memory at every system call: kill it there, or let the call fail there.

After each interruption the memory is opened again and must be exactly as before the operation or exactly as after it, in
order, with nothing left over; and as after it if the operation was acknowledged. The naive way must fail the same test.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CALLS = ["openat", "write", "fsync", "fdatasync", "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat",
         "flock", "ftruncate", "fchmod", "chmod", "read", "lseek", "getdents64", "newfstatat", "statx", "fstat"]
ERRORS = ["ENOSPC", "EIO", "EACCES", "EROFS", "EMFILE", "EDQUOT", "EINTR"]
ERROR_CALLS = ["openat", "write", "fsync", "fdatasync", "renameat", "renameat2", "unlinkat", "mkdirat", "flock", "ftruncate", "fchmod", "read"]
OPERATIONS = ["new", "overwrite", "remove", "together", "tainted", "undo", "open"]


def build() -> str:
    command = ["cargo", "test", "-p", "scrubjay", "--test", "store", "--no-run", "--message-format=json"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    found = [json.loads(line).get("executable") for line in lines if '"executable"' in line]
    return [path for path in found if path and "/store-" in path][-1]


class Bench:
    """A memory that is put back to its beginning for each interruption."""

    def __init__(self, program: str, room: pathlib.Path, seed: pathlib.Path):
        self.program, self.data, self.seed = program, room / "data", seed

    def reset(self) -> None:
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.copytree(self.seed, self.data)

    def run(self, job: str, name: str, wrap: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
        env = dict(os.environ, CHILD_DATA=str(self.data), CHILD_JOB=job, CHILD_NAME=name, CHILD_COUNT="3", RUST_BACKTRACE="0")
        command = [*wrap, self.program, "processes::child", "--exact", "--nocapture", "--test-threads=1"]
        return subprocess.run(command, env=env, capture_output=True, text=True)

    def look(self) -> dict[str, str] | None:
        ran = self.run("look", "look")
        if "looked" not in ran.stdout:
            return None
        return dict(line.split(" ", 2)[1:] for line in ran.stdout.splitlines() if line.startswith("file "))


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


def interrupt(bench: Bench, operation: str, inject: str, before: dict, after: dict, log: pathlib.Path) -> str | None:
    """Run an operation with one interruption. What is wrong, `None` if nothing, or `done` if nothing was interrupted."""
    bench.reset()
    log.unlink(missing_ok=True)
    ran = bench.run("once", operation, ("strace", "-f", "-qq", "-o", str(log), "-e", f"trace={inject.split(':')[0]}", "-e", f"inject={inject}"))
    killed = ran.returncode in (-9, 137)
    if not killed and "(INJECTED)" not in log.read_text():
        return "done"
    if not killed and "acked" not in ran.stdout and "refused" not in ran.stdout:
        # The test harness or the loader around the operation may be what was hit.
        started = "running 1 test" in ran.stdout
        if started and "panicked" in ran.stderr:
            return "it panicked"
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


def sweep(bench: Bench, operation: str, kinds: list[tuple[str, str]], room: pathlib.Path, most: int) -> tuple[int, list[str]]:
    bench.reset()
    before = bench.look()
    bench.reset()
    assert f"acked {operation}" in bench.run("once", operation).stdout, operation
    after = bench.look()
    runs, wrong = 0, []
    for call, what in kinds:
        for n in range(1, most + 1):
            fault = interrupt(bench, operation, f"{call}:{what}:when={n}", before, after, room / "strace.log")
            if fault == "done":
                break
            runs += 1
            if fault:
                wrong.append(f"{operation}, {what} at {call} {n}: {fault}")
    return runs, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", nargs="*", default=OPERATIONS)
    parser.add_argument("--most", type=int, default=400, help="of one call in one operation")
    options = parser.parse_args()
    if not shutil.which("strace"):
        print("strace is not here; nothing was tried")
        return 1
    built, bad = build(), 0
    with tempfile.TemporaryDirectory(prefix="scrubjay-faults-") as held:
        room = pathlib.Path(held)
        # A copy, so that the next build does not change what is being tried.
        program = shutil.copy(built, room / "store")
        bench = Bench(program, room, seeded(program, room))
        kills = [(call, "signal=KILL") for call in CALLS]
        errors = [(call, f"error={error}") for call in ERROR_CALLS for error in ERRORS]
        for title, kinds in [("killed", kills), ("refused", errors)]:
            total = 0
            for operation in options.operations:
                runs, wrong = sweep(bench, operation, kinds, room, options.most)
                total, bad = total + runs, bad + len(wrong)
                print(f"{operation:10} {title} at {runs:5} points, {len(wrong)} wrong", flush=True)
                print("".join(f"    {line}\n" for line in wrong), end="", flush=True)
            print(f"{title}: {total} points; if none is wrong, fewer than {300 / max(total, 1):.2f} % are, at 95 %", flush=True)
        runs, wrong = sweep_naively(bench, room, options.most)
        print(f"the naive way, killed at {runs} points: {len(wrong)} wrong")
        if not wrong:
            print("the naive way passed: this test would not notice")
            bad += 1
    return 1 if bad else 0


def sweep_naively(bench: Bench, room: pathlib.Path, most: int) -> tuple[int, list[str]]:
    """The same for a program that writes in place; it is looked at as it lies there, without repair."""
    memory = lambda: next(bench.data.glob("projects/*/memory"))
    files = lambda: {path.name: path.read_bytes() for path in memory().iterdir()}
    bench.reset()
    before = files()
    bench.run("once", "naive")
    after, runs, wrong = files(), 0, []
    for call in ["openat", "write"]:
        for n in range(1, most + 1):
            bench.reset()
            ran = bench.run("once", "naive", ("strace", "-f", "-qq", "-o", str(room / "strace.log"), "-e", f"inject={call}:signal=KILL:when={n}"))
            if ran.returncode not in (-9, 137):
                break
            runs += 1
            if files() not in (before, after):
                wrong.append(f"{call} {n}")
    return runs, wrong


sys.exit(main())
