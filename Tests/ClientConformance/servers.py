"""Servers as child processes, and the truth about their sessions, read past the proxy."""
import base64
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

from support import LIMIT_SECONDS, Fault, expect, start

SECRET = b"0123456789abcdef0123456789abcdef"


class Server:
    """A server, which can be killed and started again on the same journal."""

    def __init__(self, program, folder, *options, journal="memory"):
        self.program, self.folder = program, pathlib.Path(folder)
        self.options = list(options)
        if journal == "file":
            journal = f"file:{self.folder}/journal.sqlite"
        self.options += ["--journal", journal, "--log-level", "warning"]
        self.token = None
        self.process = None
        self.start()

    def start(self):
        with open(self.folder / "server.log", "ab") as log:
            self.process = start(
                [self.program, "--port", "0", *self.options], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, text=True,
                # A debug build then accepts other values for its constants (`--keep-records 20`).
                env=os.environ | {"REACTOR_CONSTANTS": "adjustable"})
        late = threading.Timer(LIMIT_SECONDS, self.process.kill)
        late.start()
        try:
            for line in self.process.stdout:
                if found := re.search(r"listening on http://127\.0\.0\.1:(\d+)", line):
                    self.port = int(found[1])
                    return
        finally:
            late.cancel()
        raise Fault(f"the server did not start: {(self.folder / 'server.log').read_text()[-500:]}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def terminate(self):
        """SIGTERM; waits for the end."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(LIMIT_SECONDS)
        self.process.stdout.close()
        expect(status == 0, f"the server ended with status {status}")

    def close(self):
        if self.process.poll() is None:
            self.kill()

    # --- requests

    def request(self, method, path, body=None, **fields):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_SECONDS)
        fields = {name.replace("_", "-"): value for name, value in fields.items()}
        if body is not None:
            fields["Content-Type"] = "application/json"
        if self.token:
            fields["Authorization"] = f"Bearer {self.token}"
        connection.request(method, path, None if body is None else json.dumps(body), fields)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, json.loads(text) if text else None

    def call(self, method, path, body=None, **fields):
        status, answer = self.request(method, path, body, **fields)
        expect(200 <= status < 300, f"{method} {path}: {status} {answer}")
        return answer

    def make(self, session, reactor="alerts"):
        return self.call("PUT", f"/v1/sessions/{session}", {"reactor": reactor})

    def post(self, session, *actions):
        body = actions[0] if len(actions) == 1 else list(actions)
        return self.call("POST", f"/v1/sessions/{session}/actions", body)

    def alert(self, session, *messages):
        return self.post(session, *[alert(message) for message in messages])

    def read(self, session, version=None):
        query = "" if version is None else f"?version={version}"
        return self.call("GET", f"/v1/sessions/{session}{query}")

    def delete(self, session):
        self.call("DELETE", f"/v1/sessions/{session}")

    # --- the truth

    def log(self, session):
        entries, after = [], ""
        while True:
            page = self.call("GET", f"/v1/sessions/{session}/log?limit=1000{after}")
            entries += page["entries"]
            if "next" not in page:
                return entries
            after = f"&after={page['next']}"

    def alerts(self, session):
        """The messages that the session has had, in their order."""
        return [entry["content"].get("message") for entry in self.log(session)
                if entry["kind"] == "mutation" and entry["content"]["type"] == "setAlertMessage"]

    def wait_for_alerts(self, session, count):
        """The messages, when there are that many."""
        end = time.monotonic() + LIMIT_SECONDS
        while len(found := self.alerts(session)) < count:
            if time.monotonic() > end:
                raise Fault(f"awaited in vain: {count} actions of {session} in the server's log. "
                            f"There are {len(found)}, the last ones: {found[-5:]}")
            time.sleep(0.05)
        return found


def alert(message):
    return {"type": "alert", "message": message}


def token(seconds, secret=SECRET, **grants):
    """A token of HS256, valid for that long from now."""
    def text(part):
        return base64.urlsafe_b64encode(part).rstrip(b"=").decode()

    all_verbs = ["create", "act", "read", "log", "delete", "admin"]
    claims = {"sub": "conformance", "exp": int(time.time()) + seconds,
              "reactor": {"verbs": all_verbs, "sessions": ["*"], **grants}}
    signed = text(b'{"alg":"HS256"}') + "." + text(json.dumps(claims).encode())
    return signed + "." + text(hmac.new(secret, signed.encode(), hashlib.sha256).digest())
