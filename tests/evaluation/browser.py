"""A headless Chromium, driven through its DevTools pipe: no driver, no package."""

import base64
import contextlib
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Where install_browser.py puts one.
INSTALLED = pathlib.Path(sys.prefix) / "share" / "chromium" / "chromium"
SECONDS = 60


def find_chromium():
    """The browser's path, or None."""
    return next(filter(None, map(shutil.which, (*NAMES, str(INSTALLED)))), None)


class Page:
    """A page of a browser.

    Attributes:
        problems: texts of the page's errors: exceptions, console errors, what the
            page's own policy refused.
        requests: addresses that the page asked for.
    """

    def __init__(self, send, receive):
        self._send, self._receive = send, receive
        self._number = 0
        self._session = None
        self.problems = []
        self.requests = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        """What the browser answers to a command of the DevTools protocol."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._send(message)
        while (answer := self._receive()).get("id") != self._number:
            self._note(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _note(self, event):
        told = event.get("params", {})
        if event["method"] == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.problems.append(
                details.get("exception", {}).get("description", details["text"])
            )
        elif event["method"] == "Runtime.consoleAPICalled":
            if told["type"] in ("error", "warning", "assert"):
                self.problems.append(json.dumps(told["args"]))
        elif event["method"] == "Log.entryAdded":
            self.problems.append(told["entry"]["text"])
        elif event["method"] == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])

    def open(self, path):
        """Loads a file and waits until its scripts have run."""
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def run(self, script):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition):
        """Waits for an expression to be true."""
        end = time.monotonic() + SECONDS
        while not self.run(condition):
            assert time.monotonic() < end, condition
            time.sleep(0.05)

    def mouse(self, kind, x, y):
        """A mouse event at a place of the window."""
        button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def click(self, x, y):
        """A click at a place of the window."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y)

    def key(self, name):
        """A key pressed and let go."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name)

    def screenshot(self, path):
        """Writes what is seen as a PNG."""
        data = self.call("Page.captureScreenshot")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))


@contextlib.contextmanager
def open_browser(program, width=1280, height=860):
    """Starts a browser of one `Page`, and ends it."""
    commands, answers = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory() as profile:
        # The browser reads at descriptor 3 and writes at 4: a shell puts them there.
        line = f'exec 3<&{commands[0]} 4>&{answers[1]}; exec "$@"'
        process = subprocess.Popen(
            [
                *("bash", "-c", line, "bash", program),
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-sandbox",  # root has none
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--no-first-run",
                f"--user-data-dir={profile}",
                f"--window-size={width},{height}",
            ],
            pass_fds=(commands[0], answers[1]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands[0])
        os.close(answers[1])
        rest = b""

        def send(message):
            os.write(commands[1], json.dumps(message).encode() + b"\0")

        def receive():
            nonlocal rest
            end = time.monotonic() + SECONDS
            while b"\0" not in rest:
                wait = max(end - time.monotonic(), 0)
                ready, _, _ = select.select([answers[0]], [], [], wait)
                assert ready, "the browser does not answer"
                part = os.read(answers[0], 1 << 20)
                assert part, "the browser has ended"
                rest += part
            message, _, rest = rest.partition(b"\0")
            return json.loads(message)

        try:
            page = Page(send, receive)
            size = {"width": width, "height": height}
            page.call(
                "Emulation.setDeviceMetricsOverride",
                **size,
                deviceScaleFactor=1,
                mobile=False,
            )
            yield page
        finally:
            os.close(commands[1])
            os.close(answers[0])
            process.terminate()
            process.wait(timeout=SECONDS)
