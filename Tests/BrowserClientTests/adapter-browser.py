#!/usr/bin/env python3
"""Drives the JavaScript client for `.ci/conformance` in Chromium: the page has the adapter's commands.

Lines go to the page and come from it; nothing else is done here. The profile of the browser is beside the outbox
of the command `open`, so that what is in IndexedDB survives this process. Needs playwright.
"""
import asyncio
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from playwright.async_api import async_playwright

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
PAGE = """<!doctype html><meta charset="utf-8"><script type="module">
import { Adapter } from "/files/Tests/BrowserClientTests/adapter-commands.js";
import { indexedDBOutbox } from "/files/Sources/BrowserClient/outbox-indexeddb.js";
window.adapter = new Adapter({
  write,
  outbox: (path, account) => indexedDBOutbox("outbox", account === undefined ? {} : { account }),
});
window.isReady = true;
</script>"""


async def fulfill(route):
    path = route.request.url.split("/files/", 1)
    if len(path) == 1:
        return await route.fulfill(body=PAGE, content_type="text/html")
    text = (ROOT / path[1]).read_text()
    return await route.fulfill(body=text, content_type="text/javascript")


# Ends the browser at once when this process is gone, however it ended. It has the lock of the profile until then:
# the next program would get this browser, and this one would end that of the next.
WATCHDOG = """
import os, pathlib, signal, sys, time
def browsers():
    for one in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if ("--user-data-dir=" + sys.argv[1]).encode() in one.read_bytes().split(b"\\0"):
                yield int(one.parent.name)
        except OSError:
            pass
sys.stdin.read()
while found := list(browsers()):
    for one in found:
        try:
            os.kill(one, signal.SIGKILL)
        except OSError:
            pass
    time.sleep(0.01)
"""


async def main():
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 21)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    first = await reader.readline()
    if not first:
        return
    command = json.loads(first)
    outbox = command.get("outbox")
    profile = f"{outbox}-profile" if outbox else tempfile.mkdtemp(prefix="conformance-profile-")
    os.makedirs(profile, exist_ok=True)
    lock = os.open(f"{profile}/adapter.lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    watchdog = subprocess.Popen([sys.executable, "-c", WATCHDOG, profile], stdin=subprocess.PIPE, pass_fds=[lock])
    os.close(lock)
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            profile, executable_path=next(path for path in CHROMIUM if os.access(path, os.X_OK)),
            args=["--no-sandbox", "--no-proxy-server"])
        # The runner has the limit.
        context.set_default_timeout(0)
        page = await context.new_page()
        page.on("pageerror", lambda error: write(json.dumps({"event": "fault", "detail": str(error)})))
        closing = {"id": None, "reply": loop.create_future()}

        def pass_on(line):
            if closing["id"] is not None and json.loads(line).get("reply") == closing["id"]:
                closing["reply"].set_result(line)
            else:
                write(line)

        await page.expose_function("write", pass_on)
        await page.route("**/page", fulfill)
        await page.route("**/files/**", fulfill)
        server = command.get("server", "")
        origin = server if server.startswith("http://127.0.0.1:") and "?" not in server and "#" not in server else \
            "http://127.0.0.1:9999"
        await page.goto(f"{origin}/page")
        await page.wait_for_function("window.isReady")
        line = first
        while line:
            command = json.loads(line)
            if command["command"] == "close":
                closing["id"] = command["id"]
            await page.evaluate("line => adapter.perform(line)", line.decode())
            if command["command"] == "close":
                # Another program may open the profile when it has the reply.
                reply = await closing["reply"]
                await context.close()
                watchdog.stdin.close()
                watchdog.wait()
                write(reply)
                break
            line = await reader.readline()
        else:
            await context.close()
        await reader.read()
    watchdog.stdin.close()


def write(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if hasattr(signal, "SIGPIPE"):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
asyncio.run(main())
