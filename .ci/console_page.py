"""What `.ci/console` drives: a server, and a page in Chromium that is watched.

A violation of the content security policy, an exception in the page, and a request to another place are faults.
"""
import base64
import hashlib
import hmac
import json
import pathlib
import re
import subprocess
import sys
import time
import urllib.request

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error as BrowserError
from playwright.sync_api import expect as eventually

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
FOLDER = pathlib.Path(sys.argv[2]).resolve()
PATIENCE = 120_000  # Milliseconds until something that does not come is a failure; a busy machine is none.
HOSTILE = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script>&lt;b&gt;\u202e'\"${7*7}"
SECRET = b"0123456789abcdef0123456789abcdef"

CONTROLS = "button, a, input, select, textarea, .row"
# WCAG 2.2, 1.4.3; a control that is off has no bound there, and is to be legible here.
CONTRAST = """selector => {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  const colour = text => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = text;
    context.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = (top, below) => [0, 1, 2].map(n => top[n] * top[3] + below[n] * (1 - top[3])).concat(1);
  const ground = node => {
    const own = colour(getComputedStyle(node).backgroundColor);
    if (own[3] === 1) return own;
    return over(own, node.parentElement ? ground(node.parentElement) : [255, 255, 255, 1]);
  };
  const light = ([red, green, blue]) => [red, green, blue].map(one => one / 255)
    .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
    .reduce((sum, one, n) => sum + one * [0.2126, 0.7152, 0.0722][n], 0);
  const found = [];
  for (const control of document.querySelectorAll(selector)) {
    for (const node of [control, ...control.querySelectorAll("*")]) {
      const hasText = [...node.childNodes].some(one => one.nodeType === 3 && one.data.trim()) || node.value;
      if (!hasText || !node.checkVisibility() || node.type === "range" || node.type === "checkbox") continue;
      const back = ground(node);
      const [one, other] = [over(colour(getComputedStyle(node).color), back), back].map(light);
      const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
      found.push([(node.textContent || node.value).slice(0, 40), ratio, control.disabled ? 3 : 4.5]);
    }
  }
  return found;
}"""

eventually.set_options(timeout=PATIENCE)
FOLDER.mkdir(parents=True, exist_ok=True)
faults = []


def check(condition, text):
    if not condition:
        faults.append(text)
        print(f"error: {text}")


class Server:
    """A server process on a journal that outlives it."""

    def __init__(self, *options, journal=None, port=0):
        self.process = subprocess.Popen(
            [PROGRAM, "--port", str(port), "--journal", f"file:{journal}" if journal else "memory",
             "--log-level", "critical", "--loops", "2", *options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.process.stdout:
            if found := re.search(r"listening on (http://\S+:(\d+)) ", line):
                self.base, self.port = found[1], int(found[2])
                self.token = None
                return
        raise SystemExit("error: the server did not start")

    def request(self, method, path, body=None):
        fields = {"Content-Type": "application/json"}
        if self.token:
            fields["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, method=method, data=data, headers=fields)
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.loads(response.read() or b"null")

    def make(self, session, reactor):
        return self.request("PUT", f"/v1/sessions/{session}", {"reactor": reactor})

    def post(self, session, *actions):
        for action in actions:
            self.request("POST", f"/v1/sessions/{session}/actions", action)

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)


def token(verbs):
    def text(part):
        return base64.urlsafe_b64encode(part).rstrip(b"=").decode()
    grants = {"verbs": verbs, "sessions": ["*"]}
    claims = {"sub": "operator", "exp": int(time.time()) + 3600, "reactor": grants}
    signed = text(b'{"alg":"HS256"}') + "." + text(json.dumps(claims).encode())
    return signed + "." + text(hmac.new(SECRET, signed.encode(), hashlib.sha256).digest())


class Page:
    """A page that is watched."""

    def __init__(self, browser, base, **options):
        options = {"viewport": {"width": 1440, "height": 900}, "accept_downloads": True, **options}
        self.context = browser.new_context(**options)
        self.base = base
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.add_init_script(
            "window.violations = []; addEventListener('securitypolicyviolation', (event) =>"
            " violations.push(`${event.violatedDirective} ${event.blockedURI}`))")
        self.page.on("pageerror", lambda error: check(False, f"an exception in the page: {error}"))
        self.page.on("console", self.said)
        self.page.on("request", self.requested)

    def said(self, message):
        # Chromium reports each status of 4xx; some are part of the tour.
        if message.type == "error" and "Failed to load resource" not in message.text:
            check(False, f"the page reports: {message.text}")

    def requested(self, request):
        check(request.url.startswith((self.base, "data:", "blob:")), f"a request to {request.url}")

    def open(self, address):
        self.page.goto(f"{self.base}/console{address}")

    def keys(self, *names):
        for name in names:
            self.page.keyboard.press(name)

    def type(self, text):
        self.page.keyboard.type(text)

    def see(self, selector, text=None):
        found = self.page.locator(selector)
        if text is None:
            eventually(found.first).to_be_visible()
        else:
            eventually(found.filter(has_text=text).first).to_be_visible()
        return found

    def until(self, expression):
        """Waits for an expression; Playwright's own wait needs what the policy forbids."""
        end = time.monotonic() + PATIENCE / 1_000
        while not self.page.evaluate(expression):
            if time.monotonic() > end:
                raise TimeoutError(expression)
            self.page.wait_for_timeout(20)

    def shot(self, name):
        self.page.screenshot(path=FOLDER / f"{name}.png")

    def axe(self, name):
        # Nothing has moved on: axe compares colours, and a fade has many.
        self.until("document.getAnimations().every((one) => one.playState === 'finished')")
        found = Axe().run(self.page).response["violations"]
        for one in found:
            for node in one["nodes"]:
                check(False, f"axe, {name}: {one['id']}: {one['help']}: {node['html'][:200]}")

    def contrast(self, name):
        """The text of every control against what is below it, in each of its states."""
        devtools = self.context.new_cdp_session(self.page)
        for domain in ("DOM", "CSS"):
            devtools.send(f"{domain}.enable")
        for state in [["hover"], ["focus", "focus-visible"], ["active", "hover"], []]:
            root = devtools.send("DOM.getDocument")["root"]["nodeId"]
            nodes = devtools.send("DOM.querySelectorAll", {"nodeId": root, "selector": CONTROLS})["nodeIds"]
            for node in nodes:
                try:
                    devtools.send("CSS.forcePseudoState", {"nodeId": node, "forcedPseudoClasses": state})
                except BrowserError:
                    pass  # A row that was drawn anew meanwhile.
            for text, ratio, least in self.page.evaluate(CONTRAST, CONTROLS):
                check(ratio >= least, f"contrast, {name}, {'+'.join(state) or 'at rest'}: {ratio:.2f} of {text!r}")
        devtools.detach()

    def close(self):
        violations = self.page.evaluate("window.violations")
        check(violations == [], f"violations of the policy: {violations}")
        check(self.page.evaluate("window.hacked === undefined"), "a text of a session was run")
        self.context.close()


def focused(page):
    return page.page.evaluate(
        "(document.activeElement.getAttribute('aria-label') ?? document.activeElement.id"
        " ?? document.activeElement.tagName)")


def tab_to(page, label):
    """Presses Tab until the focus is on something with this name or text."""
    for _ in range(120):
        at = page.page.evaluate(
            "(document.activeElement.getAttribute('aria-label') ?? '') + '|' + document.activeElement.id"
            " + '|' + (document.activeElement.labels?.[0]?.textContent ?? '')"
            " + '|' + (document.activeElement.matches('button, a') ? document.activeElement.textContent : '')")
        if label in [part.strip() for part in at.split("|")]:
            return
        page.keys("Tab")
    check(False, f"the keyboard does not reach {label}")
