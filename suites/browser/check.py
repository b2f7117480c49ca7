"""Look at the pages of `scrubjay report` with a real browser. python3 check.py PAGES [SHOTS]

The browser is driven over a pipe (--remote-debugging-pipe), so that nothing listens anywhere and nothing is installed.
"""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

PAGES = Path(sys.argv[1])
SHOTS = Path(sys.argv[2]) if len(sys.argv) > 2 else None
PATIENCE = 60


class Browser:
    """One headless browser, and what it complained about."""

    def __init__(self):
        program = os.environ.get("CHROMIUM") or next(
            filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None
        )
        if not program:
            sys.exit("no chromium here: install it, or name it in CHROMIUM")
        theirs_in, self.out = os.pipe()
        self.inn, theirs_out = os.pipe()
        # The browser reads from handle 3 and writes to 4; ours must not lie there.
        theirs_in, theirs_out = [fcntl.fcntl(one, fcntl.F_DUPFD, 10) for one in (theirs_in, theirs_out)]

        def handles():
            os.dup2(theirs_in, 3)
            os.dup2(theirs_out, 4)

        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
        flags += ["--no-first-run", "--disable-background-networking", f"--user-data-dir={PAGES / 'profile'}"]
        self.process = subprocess.Popen(
            [program, *flags, "about:blank"], preexec_fn=handles, close_fds=False, stderr=subprocess.DEVNULL
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.count, self.read, self.complaints, self.loaded = 0, b"", [], []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        return self.wait(lambda said: said.get("id") == message["id"])

    def wait(self, wanted):
        while True:
            said = self.hear()
            if wanted(said):
                if "error" in said:
                    raise RuntimeError(said["error"])
                return said.get("result", said)

    def hear(self):
        while b"\0" not in self.read:
            more = os.read(self.inn, 1 << 20)
            if not more:
                raise RuntimeError("the browser is gone")
            self.read += more
        line, self.read = self.read.split(b"\0", 1)
        said = json.loads(line)
        match said.get("method"):
            case "Runtime.exceptionThrown" | "Log.entryAdded" | "Runtime.consoleAPICalled":
                self.complaints.append(said["params"])
            case "Network.requestWillBeSent":
                self.loaded.append(said["params"]["request"]["url"])
        return said

    def open(self, page, width, theme="light", script=True):
        self.complaints.clear()
        self.loaded.clear()
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        media = [{"name": "prefers-color-scheme", "value": theme}, {"name": "prefers-reduced-motion", "value": "reduce"}]
        self.call("Emulation.setEmulatedMedia", features=media)
        self.call("Page.navigate", url=page.resolve().as_uri())
        self.wait(lambda said: said.get("method") == "Page.loadEventFired")

    def run(self, words):
        found = self.call("Runtime.evaluate", expression=words, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def key(self, key, code):
        for kind in ["rawKeyDown", "keyUp"]:
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def point(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def shot(self, name):
        if not SHOTS:
            return
        SHOTS.mkdir(parents=True, exist_ok=True)
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        (SHOTS / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))

    def close(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


def at(facts, place):
    for step in place.split("."):
        if isinstance(facts, list):
            facts = len(facts) if step == "length" else facts[int(step)]
        else:
            facts = facts[step]
    return facts


def figures_differ(browser, facts):
    """Figures on the page whose value is not the one in the facts."""
    shown = browser.run("[...document.querySelectorAll('data')].map((one) => [one.dataset.path, one.value])")
    assert len(shown) >= 8, shown
    return [(place, value) for place, value in shown if json.loads(value) != at(facts, place)]


def grouped(number):
    return f"{number:,}"


def readout_is(browser, request):
    shown = browser.run(
        """({ number: document.getElementById('r-number').textContent, total: document.getElementById('r-total').textContent,
            out: document.getElementById('r-out').textContent, asked: document.getElementById('r-asked').textContent,
            shares: Object.fromEntries([...document.querySelectorAll('[data-share]')].map(
                (row) => [row.dataset.share, row.querySelector('.number').textContent])) })"""
    )
    assert shown["number"] == grouped(request["number"]), (shown, request["number"])
    assert shown["total"] == grouped(request["filling"]["total"]), shown
    assert shown["out"] == grouped(sum(request["kept_out"].values())), shown
    assert shown["asked"] == request["asked"], shown
    for share, tokens in shown["shares"].items():
        assert tokens == grouped(request["filling"]["by_share"].get(share, 0)), (share, shown)


def quiet(browser):
    assert browser.complaints == [], browser.complaints
    assert all(url.startswith("file:") for url in browser.loaded), browser.loaded


CONTRAST = """(() => {
    const paint = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const bytes = (colour) => { paint.clearRect(0, 0, 1, 1); paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1);
        return [...paint.getImageData(0, 0, 1, 1).data].slice(0, 3); };
    const light = (colour) => { const [r, g, b] = bytes(colour).map((c) => c / 255).map(
        (c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const ground = (one) => { for (; one; one = one.parentElement) {
        const colour = getComputedStyle(one).backgroundColor;
        if (colour !== 'rgba(0, 0, 0, 0)' && !colour.startsWith('color(')) return colour; } return 'white'; };
    const poor = [];
    for (const one of document.querySelectorAll('h1, h2, h3, h4, p, dt, dd, li > span, summary, .tag, .word, code, .chip, text')) {
        if (!one.checkVisibility() || one.closest('.theme')) continue;
        const style = getComputedStyle(one), svg = one instanceof SVGElement;
        if (svg && one.matches('.badge-letter, .cause')) continue;
        const [a, b] = [light(svg ? style.fill : style.color), light(ground(svg ? one.ownerSVGElement.parentElement : one))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < (one.matches('.chip') ? 3 : 4.5)) poor.push([one.className.baseVal ?? one.className, one.textContent.slice(0, 30), ratio]);
    }
    return poor;
})()"""

PARTS = {
    "the pictures": "svg.chart[role=img][aria-label]",
    "the parts of the window": ".area.share-R",
    "the line without": "path.without",
    "the lines of the window": ".limit.compaction",
    "the layers at work": ".firing.layer-1",
    "a compaction": ".boundary",
    "bars of the cache": "rect.read",
    "bands of warmth": "rect.warm",
    "causes of misses": ".flag .cause",
    "the waterfall": ".whole.billed",
    "the net over time": "path.net",
    "what was kept": ".kept .findings li",
    "what was dropped": ".dropped .findings li",
    "memories": ".card.memory h3",
    "differences": "pre.diff .add",
    "the table of requests": "#requests tbody tr",
}


def whole(browser, facts, width, theme):
    """Everything is there and says what the facts say."""
    browser.open(PAGES / "report.html", width, theme)
    for name, selector in PARTS.items():
        assert browser.run(f"document.querySelectorAll({json.dumps(selector)}).length") > 0, name
    assert figures_differ(browser, facts) == []
    assert browser.run("document.getElementById('requests').tBodies[0].rows.length") == len(facts["requests"])
    assert json.loads(browser.run("document.getElementById('report').textContent")) == facts
    shown = "narrow" if width < 900 else "wide"
    visible = browser.run("[...document.querySelectorAll('.chart')].filter((one) => one.checkVisibility()).map((one) => one.classList[1])")
    assert set(visible) == {shown} and len(visible) >= 4, visible
    assert browser.run("document.documentElement.scrollWidth") <= width, "nothing is wider than the screen"
    assert browser.run("[...document.querySelectorAll('[id]')].length === new Set([...document.querySelectorAll('[id]')].map((one) => one.id)).size")
    poor = browser.run(CONTRAST)
    assert poor == [], poor
    quiet(browser)
    browser.shot(f"{theme}-{width}")


def by_key_and_pointer(browser, facts):
    requests = facts["requests"]
    browser.open(PAGES / "report.html", 1200)
    readout_is(browser, requests[-1])
    browser.run("document.getElementById('slider').focus()")
    browser.key("Home", 36)
    readout_is(browser, requests[0])
    browser.key("ArrowRight", 39)
    readout_is(browser, requests[1])
    browser.key("End", 35)
    readout_is(browser, requests[-1])
    browser.run("document.getElementById('back').click()")
    acted = [min(event["after"] + 1, len(requests)) for event in facts["events"] if event["acted"]]
    readout_is(browser, requests[max(number for number in acted if number < len(requests)) - 1])
    events = browser.run("document.getElementById('r-events').children.length")
    assert events == sum(event["after"] + 1 == browser.run("Number(document.getElementById('slider').value)") for event in facts["events"])
    for number in [1, len(requests) // 3, len(requests)]:
        place = browser.run(
            f"""(() => {{ const chart = document.querySelector('.chart.wide[data-slot]'), box = chart.getBoundingClientRect();
                chart.scrollIntoView(); const now = chart.getBoundingClientRect();
                const x = Number(chart.dataset.left) + ({number} - 0.5) * Number(chart.dataset.slot);
                return [now.left + x * now.width / chart.viewBox.baseVal.width, now.top + 120]; }})()"""
        )
        browser.point(*place)
        readout_is(browser, requests[number - 1])
    quiet(browser)


def themes(browser):
    """The choice is stronger than the system, by keyboard, and without a script."""
    ground = "getComputedStyle(document.body).backgroundColor"
    browser.open(PAGES / "report.html", 1200, "light")
    light = browser.run(ground)
    browser.run("document.getElementById('theme-auto').focus()")
    browser.key("ArrowRight", 39)
    assert browser.run(ground) == light
    browser.key("ArrowRight", 39)
    dark = browser.run(ground)
    assert dark != light
    browser.open(PAGES / "report.html", 1200, "dark")
    assert browser.run(ground) == dark
    browser.key("Tab", 9)
    assert browser.run("document.activeElement.className") == "skip", "the first stop leads past the head"


def without_script(browser, facts):
    browser.open(PAGES / "report.html", 1200, script=False)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.run("document.documentElement.className") == "", "the page's own script did not run"
    assert browser.run("document.getElementById('slider').checkVisibility()") is False, "nothing is shown that does nothing"
    readout_is(browser, facts["requests"][-1])
    assert figures_differ(browser, facts) == []
    quiet(browser)


def empty(browser):
    browser.open(PAGES / "empty.html", 390)
    assert "nothing to draw yet" in browser.run("document.body.innerText")
    assert browser.run("document.querySelectorAll('.chart').length") == 0
    quiet(browser)
    browser.shot("empty-390")


def can_fail(browser, facts):
    """A page with one figure changed, and one that runs a script of its own, are noticed."""
    page = (PAGES / "report.html").read_text()
    used = f'value="{facts["window"]["used"]}"'
    (PAGES / "changed.html").write_text(page.replace(used, 'value="1"', 1).replace("</main>", "</main><script>document.title = 'run'</script>"))
    browser.open(PAGES / "changed.html", 1200)
    assert figures_differ(browser, facts) == [("window.used", "1")]
    assert browser.run("document.title") != "run" and browser.complaints, "the policy refuses what is not ours"


def main():
    facts = json.loads((PAGES / "report.json").read_text())
    browser = Browser()
    passed = 0
    try:
        for width in [1200, 390]:
            for theme in ["light", "dark"]:
                whole(browser, facts, width, theme)
                passed += 1
        whole(browser, facts, 760, "light")
        for check in [by_key_and_pointer, without_script, can_fail]:
            check(browser, facts)
        themes(browser)
        empty(browser)
        passed += 6
    finally:
        browser.close()
    print(f"{passed} passed, 0 failed")


main()
