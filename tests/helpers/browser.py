"""A real browser to look at pages with: headless Chromium, spoken to over a pipe in the DevTools protocol.

Messages are JSON, each ended by a zero byte; Chromium reads them from file descriptor 3 and answers on 4.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 60  # seconds; a busy machine may take some of them
Json = dict[str, Any]


class Browser:
    """Chromium with a profile of its own, ended with the `with` block."""

    def __enter__(self) -> Self:
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if program is None:
            pytest.fail(
                "the page is tested in a real browser, and there is none here:  make test  installs it where it may,"
                " otherwise run  sudo apt-get install chromium",
                pytrace=False,
            )
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, ours_out = _high(os.pipe())
        ours_in, theirs_out = _high(os.pipe())

        def connect() -> None:
            os.dup2(theirs_in, 3)
            os.dup2(theirs_out, 4)

        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={self._profile.name}"],
            preexec_fn=connect,  # noqa: PLW1509
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._out, self._in = ours_out, ours_in
        self._buffer, self._last = b"", 0
        self.events: list[Json] = []
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._send("Browser.close", {}, None)
        try:
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()
            os.close(self._out)
            os.close(self._in)
            self._profile.cleanup()

    def call(self, method: str, session: str | None = None, **parameters: Any) -> Json:
        """Ask for something and wait for the answer; what happens meanwhile is kept in `events`."""
        number = self._send(method, parameters, session)
        while True:
            message = self._receive()
            if message.get("id") != number:
                self.events.append(message)
            elif "error" in message:
                raise RuntimeError(f"{method}: {message['error']['message']}")
            else:
                return message["result"]

    def wait_for(self, method: str, session: str) -> None:
        """Wait until something happens, or has happened."""
        while not any(event.get("method") == method and event.get("sessionId") == session for event in self.events):
            self.events.append(self._receive())

    def open(self, path: Path, **settings: Any) -> "Page":
        return Page(self, path, **settings)

    def _send(self, method: str, parameters: Json, session: str | None) -> int:
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        os.write(self._out, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        return self._last

    def _receive(self) -> Json:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            part = os.read(self._in, 1 << 20) if ready else b""
            if not part:
                raise RuntimeError("the browser does not answer" if not ready else "the browser has ended")
            self._buffer += part
        line, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(line)


class Page:
    """A file in a tab of its own, loaded."""

    def __init__(
        self,
        browser: Browser,
        path: Path,
        script: bool = True,
        scheme: str = "light",
        width: int = 1200,
        height: int = 900,
    ) -> None:
        self._browser = browser
        self.address = path.resolve().as_uri()
        self._target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=self.address)
        browser.wait_for("Page.loadEventFired", self._session)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)

    def call(self, method: str, **parameters: Any) -> Json:
        return self._browser.call(method, self._session, **parameters)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, awaited; works on pages that run no script of their own, too."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "exception"))
        return answer["result"].get("value")

    def point_at(self, selector: str) -> None:
        """Bring an element into view and move the mouse onto its middle."""
        self._mouse("mouseMoved", *self._middle(selector))

    def click(self, selector: str) -> None:
        x, y = self._middle(selector)
        self._mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self._mouse(kind, x, y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            code = {"Tab": 9, "Escape": 27}[key]
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def requests(self) -> list[str]:
        """All addresses that were asked for, those of data within the page aside."""
        found = [event["params"]["request"]["url"] for event in self._events("Network.requestWillBeSent")]
        return [address for address in found if not address.startswith("data:")]

    def complaints(self) -> list[str]:
        """Whatever the browser wrote to its console: errors, warnings, refused content."""
        self.evaluate("0")  # an answer comes after all that was said before
        logged = [event["params"]["entry"]["text"] for event in self._events("Log.entryAdded")]
        thrown = [event["params"]["exceptionDetails"]["text"] for event in self._events("Runtime.exceptionThrown")]
        printed = [str(event["params"]["args"]) for event in self._events("Runtime.consoleAPICalled")]
        return logged + thrown + printed

    def _events(self, method: str) -> list[Json]:
        return [
            event
            for event in self._browser.events
            if event.get("method") == method and event.get("sessionId") == self._session
        ]

    def _middle(self, selector: str) -> tuple[float, float]:
        quoted = json.dumps(selector)
        self.evaluate(f"document.querySelector({quoted}).scrollIntoView({{block: 'center', behavior: 'instant'}})")
        self._draw()
        box = self.evaluate(f"document.querySelector({quoted}).getBoundingClientRect().toJSON()")
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def _draw(self) -> None:
        """Have the browser draw, and with that do whatever it puts off until then; frames asked for by script would not
        come on a page that runs none."""
        clip = {"x": 0, "y": 0, "width": 1, "height": 1, "scale": 1}
        self.call("Page.captureScreenshot", format="jpeg", clip=clip)

    def _mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        self._draw()


def _high(pair: tuple[int, int]) -> tuple[int, int]:
    """The same pipe at numbers out of the way of 3 and 4."""
    moved = tuple(fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10) for number in pair)
    for number in pair:
        os.close(number)
    return moved[0], moved[1]
