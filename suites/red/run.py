"""Put known faults into a copy of the tree and expect the named test to fail, one fault at a time.

All faults are built at once: in the copy, a function that has faults asks which one is wanted, and is that one or, most of the time,
its sound self. Which one is wanted stands in a file, since tests start processes with an environment of their own. So the whole costs
one build and a run of each test; only a fault that is no part of a plain function is built by itself. The copy stays in `target/red`
from run to run.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
RED = ROOT / "target" / "red"
TREE, BUILT, WANTED = RED / "tree", RED / "built", RED / "wanted"
LEFT_OUT = {"target", ".git"}
PATIENCE = 300
TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<hash>#*)".*?"(?P=hash)|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^\\'])'|'\w+|\bfn\s+\w+|[][(){};]""",
    re.DOTALL)
ASKS = """
/// Whether this fault is wanted.
pub fn planted(number: usize) -> bool {
    static WANTED: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    let read = || std::fs::read_to_string("%s").ok().and_then(|text| text.trim().parse().ok());
    *WANTED.get_or_init(|| read().unwrap_or(0)) == number
}
"""


def body_around(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Where the body of the outermost plain function begins and ends that holds this piece of a file."""
    open_braces, depth, header, found = [], 0, None, None
    for token in TOKEN.finditer(text):
        word = token.group()
        if word.startswith("fn"):
            header = (token.start(), depth)
        elif word in "([":
            depth += 1
        elif word in ")]":
            depth -= 1
        elif word == ";" and header and header[1] == depth:
            header = None
        elif word == "{":
            open_braces.append((token.start(), header))
            header = None
        elif word == "}":
            opened, begins = open_braces.pop()
            if begins and opened < start and end <= token.start():
                signature = text[begins[0]:opened]
                if "-> impl" in signature or text[:begins[0]].endswith("const "):
                    return None
                found = (opened + 1, token.start())
    return found


def planted(faults: list[dict]) -> dict[pathlib.Path, str]:
    """The files of the copy that hold faults. What is wrong with a fault, and which of them stand alone, is noted in them."""
    files: dict[str, dict[tuple[int, int], list[dict]]] = {}
    for number, fault in enumerate(faults, 1):
        sound = (ROOT / fault["file"]).read_text()
        fault["number"], count = number, sound.count(fault["find"])
        if count != 1:
            fault["wrong"] = f"THE LINE IS THERE {count} TIMES"
            continue
        start = sound.index(fault["find"])
        body = body_around(sound, start, start + len(fault["find"]))
        fault["alone"] = body is None
        if body:
            files.setdefault(fault["file"], {}).setdefault(body, []).append(fault)
    made = {}
    for file, bodies in files.items():
        text = (ROOT / file).read_text()
        for (start, end), held in sorted(bodies.items(), key=lambda item: item[0], reverse=True):
            sound = text[start:end]
            versions = "".join(f"if crate::planted({fault['number']}) {{{sound.replace(fault['find'], fault['replace'])}}} else "
                               for fault in held)
            text = f"{text[:start]} {versions}{{{sound}}} {text[end:]}"
        made[pathlib.Path(file)] = text
    for crate in {pathlib.Path(*pathlib.Path(file).parts[:2]) for file in files}:
        root = next(crate / "src" / name for name in ["lib.rs", "main.rs"] if (ROOT / crate / "src" / name).exists())
        made[root] = made.get(root, (ROOT / root).read_text()) + ASKS % WANTED
    return made


def copy(source: pathlib.Path, to: pathlib.Path, instead: dict[pathlib.Path, str]) -> None:
    """Make one folder like another, but for these files. What is the same is left alone, so that it is not built again."""
    to.mkdir(parents=True, exist_ok=True)
    wanted = {path.name for path in source.iterdir()} - LEFT_OUT
    for path in list(to.iterdir()):
        if path.name not in wanted:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in wanted:
        if (source / name).is_dir():
            copy(source / name, to / name, instead)
            continue
        text = instead.get((source / name).relative_to(ROOT))
        content = (source / name).read_bytes() if text is None else text.encode()
        if not (to / name).exists() or (to / name).read_bytes() != content:
            # Not with the time of the original: what was built from a fault may be newer than that.
            (to / name).write_bytes(content)
            shutil.copymode(source / name, to / name)


def cargo(*words: str) -> subprocess.CompletedProcess:
    command = ["cargo", "test", "--quiet", "--target-dir", str(BUILT), "--config", "profile.dev.debug=false", *words]
    return subprocess.run(command, cwd=TREE, capture_output=True, text=True)


def programs(package: str) -> list[tuple[list[str], str, str]]:
    """The test programs of a package as it is: how cargo is told to build one, where it lies, the tests it holds."""
    ran = cargo("-p", package, "--tests", "--no-run", "--message-format=json")
    made = [json.loads(line) for line in ran.stdout.splitlines()]
    if ran.returncode:
        said = [line["message"]["rendered"] for line in made if line.get("message", {}).get("level") == "error"]
        raise SystemExit(f"{package} cannot be built:\n{''.join(said)[-4000:]}{ran.stderr[-2000:]}")
    found = []
    for one in made:
        if one.get("executable") and one["profile"]["test"]:
            kind, name = one["target"]["kind"][0], one["target"]["name"]
            selected = {"test": ["--test", name], "bin": ["--bin", name]}.get(kind, ["--lib"])
            listed = subprocess.run([one["executable"], "--list"], capture_output=True, text=True).stdout
            found.append((selected, one["executable"], listed))
    return found


def run(holding: list[tuple[list[str], str, str]], test: str, home: pathlib.Path) -> subprocess.CompletedProcess:
    """The first of these programs in which the test fails, or the last of them."""
    for _, program, _ in holding:
        with subprocess.Popen([program, test], cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                              start_new_session=True) as child:
            try:
                said, complained = child.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                # With whatever it started.
                os.killpg(child.pid, signal.SIGKILL)
                raise
        ran = subprocess.CompletedProcess(program, child.returncode, said, complained)
        if ran.returncode:
            break
    return ran


def run_alone(fault: dict, holding: list[tuple[list[str], str, str]]) -> subprocess.CompletedProcess:
    """The same for a fault that has to be built by itself."""
    path = TREE / fault["file"]
    sound = path.read_text()
    path.write_text(sound.replace(fault["find"], fault["replace"]))
    try:
        return cargo("-p", fault["package"], *[word for selected, _, _ in holding for word in selected], fault["test"])
    finally:
        path.write_text(sound)


def try_fault(fault: dict, holding: list[tuple[list[str], str, str]]) -> str | None:
    """What is wrong with the test of a fault; `None` if it turns red."""
    if "wrong" in fault or not holding:
        return fault.get("wrong", "NO SUCH TEST")
    WANTED.write_text(str(fault["number"]))
    try:
        home = TREE / "crates" / fault["package"]
        ran = run_alone(fault, holding) if fault["alone"] else run(holding, fault["test"], home)
    except subprocess.TimeoutExpired:
        return "COMES TO NO END"
    finally:
        WANTED.write_text("0")
    if ran.returncode == 0:
        return "STILL GREEN"
    return None if "test result: FAILED" in ran.stdout else f"BROKEN\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", nargs="*", help="only faults of these rules")
    parser.add_argument("--since", metavar="COMMIT", help="only faults in files that changed since then")
    options = parser.parse_args()
    faults = tomllib.loads((ROOT / "suites/red/faults.toml").read_text())["fault"]
    instead = planted(faults)
    if options.rules:
        faults = [fault for fault in faults if fault["rule"] in options.rules]
    if options.since:
        command = ["git", "diff", "--name-only", options.since]
        changed = set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines())
        faults = [fault for fault in faults if fault["file"] in changed]
    copy(ROOT, TREE, instead)
    WANTED.write_text("0")
    known = {package: programs(package) for package in sorted({fault["package"] for fault in faults})}
    names = lambda listed: [line.removesuffix(": test") for line in listed.splitlines() if line.endswith(": test")]
    holding = lambda fault: [one for one in known[fault["package"]] if any(fault["test"] in name for name in names(one[2]))]
    failed = 0
    for package, test in sorted({(fault["package"], fault["test"]) for fault in faults}):
        held = holding({"package": package, "test": test})
        ran = run(held, test, TREE / "crates" / package) if held else None
        if ran and ran.returncode:
            failed += 1
            print(f"{'RED WITHOUT A FAULT':24} {test}\n{ran.stdout[-2000:]}", flush=True)
    for fault in faults:
        began = time.monotonic()
        wrong = try_fault(fault, holding(fault))
        failed += wrong is not None
        head, _, rest = (wrong or "red as it should be").partition("\n")
        print(f"{head:24} {fault['rule']:4} {fault['change']} ({time.monotonic() - began:.0f} s)", flush=True)
        print(rest, end="", flush=True)
    print(f"{len(faults)} faults, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
