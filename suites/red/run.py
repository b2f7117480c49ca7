"""Put known faults into a copy of the tree, one at a time, and expect the named test to fail.

The copy stays in `target/red` from run to run, and of each package only the test programs that hold the named test are built. That is
still a build of the engine for each fault, some 25 seconds of processor time, 26 minutes for all of them. `--since` is for the rest of
the time: only faults in files that changed.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
TREE, BUILT = ROOT / "target" / "red" / "tree", ROOT / "target" / "red" / "built"
LEFT_OUT = {"target", ".git"}


def copy(source: pathlib.Path, to: pathlib.Path) -> None:
    """Make one folder like another. What is the same is left alone, so that it is not built again."""
    to.mkdir(parents=True, exist_ok=True)
    wanted = {path.name for path in source.iterdir()} - LEFT_OUT
    for path in list(to.iterdir()):
        if path.name not in wanted:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in wanted:
        if (source / name).is_dir():
            copy(source / name, to / name)
        elif not (to / name).exists() or (to / name).read_bytes() != (source / name).read_bytes():
            # Not with the time of the original: what was built from a fault may be newer than that.
            shutil.copyfile(source / name, to / name)
            shutil.copymode(source / name, to / name)


def cargo(*words: str) -> subprocess.CompletedProcess:
    command = ["cargo", "test", "--quiet", "--target-dir", str(BUILT), "--config", "profile.dev.debug=false", *words]
    return subprocess.run(command, cwd=TREE, capture_output=True, text=True)


def programs(package: str) -> list[tuple[list[str], str, str]]:
    """The test programs of a package as it is: how cargo is told to build one, where it lies, the tests it holds."""
    ran = cargo("-p", package, "--tests", "--no-run", "--message-format=json")
    if ran.returncode:
        raise SystemExit(f"{package} cannot be built as it is:\n{ran.stderr[-2000:]}")
    found = []
    for line in ran.stdout.splitlines():
        made = json.loads(line)
        if made.get("executable") and made["profile"]["test"]:
            kind, name = made["target"]["kind"][0], made["target"]["name"]
            selected = {"test": ["--test", name], "bin": ["--bin", name]}.get(kind, ["--lib"])
            listed = subprocess.run([made["executable"], "--list"], capture_output=True, text=True).stdout
            found.append((selected, made["executable"], listed))
    return found


def try_fault(fault: dict, known: list[tuple[list[str], str, str]]) -> str | None:
    """What is wrong with the test of a fault; `None` if it turns red."""
    holding = [(selected, listed) for selected, _, listed in known
               if any(fault["test"] in line for line in listed.splitlines() if line.endswith(": test"))]
    if not holding:
        return "NO SUCH TEST"
    path = TREE / fault["file"]
    sound = path.read_text()
    if sound.count(fault["find"]) != 1:
        return f"THE LINE IS THERE {sound.count(fault['find'])} TIMES"
    path.write_text(sound.replace(fault["find"], fault["replace"]))
    try:
        selected = [word for words, _ in holding for word in words]
        ran = cargo("-p", fault["package"], *selected, fault["test"])
    finally:
        path.write_text(sound)
    if ran.returncode == 0:
        return "STILL GREEN"
    return None if "test result: FAILED" in ran.stdout else f"BROKEN\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", nargs="*", help="only faults of these rules")
    parser.add_argument("--since", metavar="COMMIT", help="only faults in files that changed since then")
    options = parser.parse_args()
    faults = tomllib.loads((ROOT / "suites/red/faults.toml").read_text())["fault"]
    if options.rules:
        faults = [fault for fault in faults if fault["rule"] in options.rules]
    if options.since:
        command = ["git", "diff", "--name-only", options.since]
        changed = set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines())
        faults = [fault for fault in faults if fault["file"] in changed]
    copy(ROOT, TREE)
    known = {package: programs(package) for package in sorted({fault["package"] for fault in faults})}
    failed = 0
    for package, tests in sorted({(fault["package"], fault["test"]) for fault in faults}):
        for _, program, listed in known[package]:
            if tests in listed:
                home = TREE / "crates" / package
                ran = subprocess.run([program, tests], cwd=home, capture_output=True, text=True)
                if ran.returncode:
                    failed += 1
                    print(f"{'RED WITHOUT A FAULT':24} {tests}\n{ran.stdout[-2000:]}", flush=True)
    for fault in faults:
        began = time.monotonic()
        wrong = try_fault(fault, known[fault["package"]])
        failed += wrong is not None
        head, _, rest = (wrong or "red as it should be").partition("\n")
        print(f"{head:24} {fault['rule']:4} {fault['change']} ({time.monotonic() - began:.0f} s)", flush=True)
        print(rest, end="", flush=True)
    print(f"{len(faults)} faults, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
