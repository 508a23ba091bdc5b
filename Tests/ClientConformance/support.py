"""What every part of the runner uses: faults, limits, and waiting."""
import os
import subprocess
import threading

# Until something that does not come is a fault. Nothing waits as long where it comes: a machine may be
# slow for minutes, and a case that fails says what was awaited.
LIMIT_SECONDS = float(os.environ.get("REACTOR_CONFORMANCE_LIMIT", 150))


class Fault(Exception):
    """A case failed: the promise is broken, or something awaited did not come."""


def expect(condition, text):
    if not condition:
        raise Fault(text() if callable(text) else text)


def expect_equal(found, expected, text):
    """Compares, and names the first difference of lists."""
    if found == expected:
        return
    if isinstance(found, list) and isinstance(expected, list):
        number = next((n for n, (left, right) in enumerate(zip(found, expected)) if left != right),
                      min(len(found), len(expected)))
        raise Fault(f"{text}: {len(found)} and not {len(expected)}, from number {number}: "
                    f"{str(found[number:number + 5]):.300} and not {str(expected[number:number + 5]):.300}")
    raise Fault(f"{text}: {str(found):.300} and not {str(expected):.300}")


CHILDREN = []


def start(*command, **options):
    """Starts a child process, which does not outlive the runner if that is stopped."""
    child = subprocess.Popen(*command, **options)
    CHILDREN.append(child)
    return child


def stop(*_):
    for child in list(CHILDREN):
        if child.poll() is None:
            child.kill()
    os._exit(1)


class Watched:
    """Something that changes, and that others wait for. `with self.changing:` announces a change."""

    def __init__(self):
        self.changing = threading.Condition()

    def changed(self):
        with self.changing:
            self.changing.notify_all()

    def wait(self, what, holds, limit=None):
        """Returns the first result of `holds` that is true."""
        with self.changing:
            result = self.changing.wait_for(holds, limit or LIMIT_SECONDS)
        if not result:
            raise Fault(f"awaited in vain: {what}{self.last_words()}")
        return result

    def last_words(self):
        return ""
