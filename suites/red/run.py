"""Put known faults into a copy of the tree, one at a time, and expect the named test to fail."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main() -> int:
    wanted = set(sys.argv[1:])
    faults = tomllib.loads((ROOT / "suites/red/faults.toml").read_text())["fault"]
    faults = [f for f in faults if not wanted or f["rule"] in wanted]
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="scrubjay-red-") as copy:
        tree = pathlib.Path(copy) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns("target", ".git"))
        for fault in faults:
            path = tree / fault["file"]
            sound = path.read_text()
            path.write_text(sound.replace(fault["find"], fault["replace"]))
            # The copy builds into the tree's own target folder, so that dependencies are not built again.
            command = ["cargo", "test", "--quiet", "-p", fault["package"], "--lib", "--tests", fault["test"]]
            command += ["--target-dir", str(ROOT / "target" / "red")]
            ran = subprocess.run(command, cwd=tree, capture_output=True, text=True)
            path.write_text(sound)
            red = ran.returncode != 0 and "test result: FAILED" in ran.stdout
            passed, failed = passed + red, failed + (not red)
            print(f"{'red as it should be' if red else 'STILL GREEN OR BROKEN':24} {fault['rule']:4} {fault['change']}", flush=True)
            if not red:
                print(ran.stdout[-2000:], ran.stderr[-2000:])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
