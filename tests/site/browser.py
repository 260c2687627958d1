"""Headless Chromium through its debugging pipe: pages opened, measured, and photographed."""

import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Self

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-dev-shm-usage "
    "--disable-background-networking --disable-component-update --disable-sync --hide-scrollbars "
    "--remote-debugging-pipe"
)


class Browser:
    """One page of a browser of its own; `seen` holds its requests and complaints since `open`."""

    def __init__(self, profile: Path) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # The pipe's ends must be 3 and 4, which the shell arranges.
        command = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}'
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                command,
                CHROMIUM,
                *FLAGS.split(),
                f"--user-data-dir={profile}",
            ],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._rest, self._number, self._session = b"", 0, None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=30)
        os.close(self._read)
        os.close(self._write)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and give its result; events in between are kept."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": params}
        message |= {"sessionId": self._session} if self._session else {}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._read, 1 << 16)
            assert more, "the browser has ended"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def open(self, url: str, *, width: int, dark: bool, height: int = 900) -> None:
        """Load a page at a width, light or dark, and wait for it."""
        size = {
            "width": width,
            "height": height,
            "deviceScaleFactor": 1,
            "mobile": width < 500,
        }
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        self.call("Page.navigate", url=url)
        end = time.monotonic() + 30
        while not any(
            event.get("method") == "Page.loadEventFired" for event in self.events
        ):
            assert time.monotonic() < end, f"{url} does not load"
            self.events.append(self._receive())

    def ask(self, expression: str) -> Any:
        """Evaluate JavaScript in the page."""
        requested = {
            "expression": expression,
            "returnByValue": True,
            "awaitPromise": True,
        }
        return self.call("Runtime.evaluate", **requested)["result"].get("value")

    def complaints(self) -> list[str]:
        """List errors of scripts and of the console since the page was opened."""
        told = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                told.append(params["exceptionDetails"]["text"])
            elif (
                event.get("method") == "Log.entryAdded"
                and params["entry"]["level"] == "error"
            ):
                told.append(
                    f"{params['entry']['text']} {params['entry'].get('url', '')}"
                )
            elif (
                event.get("method") == "Runtime.consoleAPICalled"
                and params["type"] == "error"
            ):
                told.append(str(params["args"]))
        return told

    def requests(self) -> list[str]:
        """List what the page asked for since it was opened."""
        sent = "Network.requestWillBeSent"
        requested = [event for event in self.events if event.get("method") == sent]
        return [event["params"]["request"]["url"] for event in requested]

    def photograph(self, path: Path, *, whole: bool = False) -> None:
        """Save what is seen, or the whole page, as PNG."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))
