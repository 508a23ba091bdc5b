"""A client as a child process: commands on its standard input, replies and events on its output."""
import collections
import json
import os
import signal
import subprocess
import threading

from support import Fault, Watched, expect, start

# What a session's events are, in one order; each has members of its own.
STORY = {"present", "reset", "state", "happened", "ended"}


class Refused(Exception):
    """A command failed, as it may: `failure` is the adapter's word."""

    def __init__(self, failure):
        super().__init__(str(failure))
        self.failure = failure


class Adapter(Watched):
    def __init__(self, command, log):
        super().__init__()
        self.lock = threading.Lock()
        self.log = log
        self.next_id = 0
        self.lines = collections.deque(maxlen=12)
        self.replies = {}
        self.event_count = 0
        self.submitted = {}  # The tickets of commands, by their numbers.
        self.story = collections.defaultdict(list)  # Of each session.
        self.shown = collections.defaultdict(list)
        self.statuses = collections.defaultdict(list)
        self.outcomes = collections.defaultdict(list)  # Of each ticket.
        self.refusals = []
        self.questions = []
        self.answer = None  # Called with a question for a credential; returns the answer's members.
        self.faults = []
        self.is_over = self.is_killed = False
        with open(log, "ab") as errors:
            self.process = start(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        self.reader = threading.Thread(target=self.read_lines, daemon=True)
        self.reader.start()

    # --- lines

    def read_lines(self):
        for line in self.process.stdout:
            text = line.decode()
            try:
                members = json.loads(text)
            except ValueError:
                members = {"event": "fault", "detail": f"a line is no JSON: {text}"}
            with self.changing:
                self.lines.append(text.strip()[:400])
                self.receive(members)
                self.changing.notify_all()
            if members.get("event") == "credential" and self.answer:
                # Not under the lock: a runner that waits for a reply holds none.
                self.command("credential", request=members["request"], **self.answer(members))
        with self.changing:
            self.is_over = True
            self.changing.notify_all()

    def receive(self, members):
        if "reply" in members:
            self.replies[members["reply"]] = members
            ticket = self.submitted.pop(members["reply"], None)
            if ticket is not None and "failure" in members:
                self.outcomes[ticket].append({"outcome": "failed", "failure": members["failure"]})
            return
        self.event_count += 1
        event = members.get("event")
        if event in STORY:
            self.story[members["session"]].append(members)
        elif event == "shown":
            self.shown[members["session"]].append(members["state"])
        elif event == "status":
            self.statuses[members["session"]].append(members)
        elif event == "outcome":
            self.outcomes[members["ticket"]].append(members)
        elif event == "refusal":
            self.refusals.append(members)
        elif event == "credential":
            self.questions.append(members)
        else:
            self.faults.append(members)

    def last_words(self):
        with open(self.log, "rb") as log:
            errors = log.read()[-300:].decode(errors="replace")
        ended = f" It has ended with status {self.process.poll()}." if self.is_over else ""
        return (f".{ended} The adapter's last lines:\n    " + "\n    ".join(self.lines)
                + (f"\n  and on standard error: {errors}" if errors else ""))

    # --- commands

    def command(self, name, **members):
        """Writes a command; returns its number."""
        with self.lock:
            self.next_id += 1
            number = self.next_id
            if name == "submit":
                self.submitted[number] = members["ticket"]
            line = json.dumps({"id": number, "command": name, **members}) + "\n"
            try:
                self.process.stdin.write(line.encode())
                self.process.stdin.flush()
            except OSError:
                if not self.is_killed:
                    raise Fault(f"the adapter has ended before {line:.200}{self.last_words()}")
        return number

    def reply(self, number, name):
        members = self.wait(f"the reply to {name}", lambda: self.replies.get(number) or self.is_over)
        if members is True:
            raise Fault(f"the adapter has ended without a reply to {name}{self.last_words()}")
        if "failure" in members:
            raise Refused(members["failure"])
        return members

    def call(self, name, **members):
        return self.reply(self.command(name, **members), name)

    def open(self, server, **members):
        self.call("open", server=server, **members)
        return self

    def follow(self, session, reactor="alerts", **members):
        return self.call("follow", session=session, reactor=reactor, **members)

    def follow_all(self, sessions, **members):
        numbers = [self.command("follow", session=session, **{"reactor": "alerts", **members})
                   for session in sessions]
        for number in numbers:
            self.reply(number, "follow")

    def submit(self, session, action, ticket):
        """Does not wait. A failure of the command is one of the ticket."""
        return self.command("submit", session=session, action=action, ticket=ticket)

    def wake(self):
        self.command("wake")

    def look(self, session):
        return self.call("read", session=session)

    # --- waiting

    def wait_until(self, what, holds):
        """As `wait`, and a fault if the adapter ends before."""
        result = self.wait(what, lambda: holds() or self.is_over)
        if not holds():
            raise Fault(f"the adapter has ended before {what}{self.last_words()}")
        return result

    def has_reached(self, tickets, outcome):
        """What is sent is durable, too."""
        enough = ("queued", "sent", "applied") if outcome == "queued" else (outcome,)
        return all(any(one["outcome"] in enough for one in self.outcomes[ticket]) for ticket in tickets)

    def wait_for(self, tickets, outcome="applied"):
        """Waits until all these tickets have had an outcome."""
        def missing():
            return [one for one in tickets if not self.has_reached([one], outcome)]

        try:
            self.wait_until(f"{len(tickets)} tickets {outcome}", lambda: not missing())
        except Fault as fault:
            left = missing()
            raise Fault(f"{fault}\n  {len(left)} are not {outcome}: " + ", ".join(
                f"{one} {[it['outcome'] for it in self.outcomes[one]]}" for one in left[:5])) from None
        return [self.outcomes[ticket][-1] for ticket in tickets]

    def wait_to_read(self, what, session, holds):
        """Reads until the answer is as awaited: again after each event, for an answer may be older than an event
        that has come before it was looked at."""
        while True:
            seen = self.event_count
            if holds(self.look(session)):
                return
            self.wait_until(what, lambda: self.event_count > seen)

    def failure(self, ticket):
        """The failure with which a ticket ends."""
        last = self.wait_until(
            f"the end of {ticket}",
            lambda: next((one for one in self.outcomes[ticket]
                          if one["outcome"] in ("applied", "failed")), None))
        expect(last["outcome"] == "failed", f"{ticket} is applied")
        return last["failure"]

    def heard(self, session, name="alertMessage"):
        """The values of a pulse that have come, one for each assignment."""
        return [one["value"] for one in list(self.story[session])
                if one["event"] == "happened" and one["name"] == name]

    def wait_to_hear(self, session, value, name="alertMessage"):
        self.wait_until(f"{name} {value!r} of {session}",
                        lambda: value in self.heard(session, name)[-50:])

    def wait_to_see(self, session, message):
        """Waits until a confirmed state has this message."""
        self.wait_until(f"a state of {session} with the message {message!r}", lambda: any(
            event.get("state", {}).get("alertMessage") == message for event in self.story[session][-50:]))

    def count(self, session, event):
        return sum(one["event"] == event for one in list(self.story[session]))

    def check(self):
        """What holds in every case: no fault, positions go forward, one end for each ticket."""
        expect(not self.faults, lambda: f"the adapter reports {self.faults[0]}")
        for ticket, outcomes in list(self.outcomes.items()):
            ends = [one["outcome"] for one in outcomes if one["outcome"] in ("applied", "failed")]
            expect(len(ends) <= 1, f"{ticket} has ended as {ends}")
        for session, story in list(self.story.items()):
            check_positions(session, story)

    # --- the end

    def strike(self):
        """Kills it, and does not wait: commands that are written from now on are lost."""
        self.is_killed = True
        self.process.send_signal(signal.SIGKILL)

    def kill(self):
        self.strike()
        self.process.wait()
        self.reader.join()

    def stop(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def close(self):
        if self.process.poll() is None:
            self.is_killed = True
            self.process.kill()
            self.process.wait()
        try:
            self.process.stdin.close()
        except OSError:
            pass  # A command was written that nobody reads any more.


def place(position):
    """A position as its generation and its numbers; the whole position comes after its parts."""
    generation, *numbers = position.split(".")
    parts = [int(number) for number in numbers]
    return generation, (parts + [1 << 60])[:2]


def check_positions(session, story):
    """Each event is behind the one before, but for a new beginning after a reset."""
    last = None
    for number, event in enumerate(story):
        if event["event"] == "reset":
            last = None
        # A state may have been read beside the stream: it is no event.
        if event["event"] not in ("happened", "state"):
            continue
        this = place(event["position"])
        expect(last is None or this[0] == last[0] and this > last,
               f"event {number} of {session}, {str(event):.200}, is not behind {last}")
        last = this
