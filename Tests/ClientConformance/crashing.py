"""Servers and clients that are killed, and those that end as they should."""
import signal
import threading

from adapter import Refused
from bench import case
from servers import alert
from support import LIMIT_SECONDS, expect, expect_equal

SESSIONS = ["room-a", "room-b", "room-c"]
FROM_START = {"from": "start"}


class Load:
    """Actions on several sessions, in order."""

    def __init__(self, client):
        self.client = client
        self.sent = {session: [] for session in SESSIONS}

    def submit(self, count):
        for _ in range(count):
            for session in SESSIONS:
                message = f"{session} {len(self.sent[session])}"
                self.sent[session].append(message)
                self.client.submit(session, alert(message), message)

    def finish(self, server):
        """All were applied once and heard once, at positions that are those of the server."""
        for session, sent in self.sent.items():
            outcomes = self.client.wait_for(sent)
            expect_equal(server.alerts(session), sent, f"the actions of {session}")
            self.client.wait_to_hear(session, sent[-1])
            expect_equal(self.client.heard(session), sent, f"the values of {session}")
            expect(self.client.count(session, "reset") == 0, f"{session} has had a reset")
            expect(self.client.look(session)["pending"] == 0, f"something of {session} is pending")
            versions = {}
            for ticket, outcome in zip(sent, outcomes):
                receipt = outcome["receipt"]
                if receipt["version"] is not None:
                    versions.setdefault(receipt["version"], receipt["position"])
            for version in list(versions)[:: max(1, len(versions) // 5)]:
                expect_equal(server.read(session, version)["position"], versions[version],
                             f"the position of version {version} of {session}")


@case("server-killed", "a server that is killed at fifty moments under load has each action once", weight=10)
def server_killed(bench):
    server, proxy, client = bench.setting(journal="file", outbox="outbox")
    client.follow_all(SESSIONS, **FROM_START)
    load = Load(client)
    for moment in range(50):
        killed = threading.Event()

        def kill():
            server.process.kill()
            killed.set()

        way = moment % 5
        if way == 0:  # Before it has the request.
            rule = proxy.rule("/v1/sessions/.*/actions", "request", 0, then=kill)
        elif way == 1:  # With it, anywhere in what it does then.
            rule = proxy.rule("/v1/sessions/.*/actions", "answer", 0, then=kill)
        elif way == 2:  # With the answer on its way.
            rule = proxy.rule("/v1/sessions/.*/actions", "answer",
                              bench.random.randrange(1, 150), then=kill)
        else:  # At any moment.
            rule = None
            later = threading.Timer(bench.random.random() * 0.03, kill)
        load.submit(3)
        if rule is None:
            later.start()
            load.submit(2)
        expect(killed.wait(LIMIT_SECONDS), lambda: f"moment {moment} did not come{client.last_words()}")
        server.process.wait()
        load.submit(1)
        server.kill()
        server.start()
        proxy.upstream = server.port
        client.wake()
    load.finish(server)


@case("limit-lowered", "a batch in doubt that a smaller limit refuses has each action once", weight=3)
def limit_lowered(bench):
    for side, folder in (("answer", "applied"), ("request", "lost")):
        server, proxy, client = bench.setting("--body-limit", "20000", journal="file", outbox=folder)
        session = f"room-{folder}"
        client.follow(session)
        killed = threading.Event()

        def kill():
            server.process.kill()
            killed.set()

        proxy.refuse()
        tickets = [f"{folder} {number}" for number in range(40)]
        for ticket in tickets:
            client.submit(session, alert(ticket), ticket)
        client.wait_for(tickets, "queued")
        # The first request has one action, the next one has the others.
        proxy.rule(f"/v1/sessions/{session}/actions", "answer", 100_000)
        rule = proxy.rule(f"/v1/sessions/{session}/actions", side, 1 if side == "answer" else 700, then=kill)
        proxy.accept()
        client.wake()
        expect(killed.wait(LIMIT_SECONDS), lambda: f"the batch did not come{client.last_words()}")
        server.process.wait()
        server.kill()
        server.options[server.options.index("--body-limit") + 1] = "600"
        server.start()
        proxy.upstream = server.port
        client.wake()
        client.wait_for(tickets)
        expect_equal(server.alerts(session), tickets, f"the actions, whose batch was {folder}")
        asked = [post for post in proxy.attempts(rule.path) if post.body == b"[]"]
        expect(asked and {post.key for post in asked} == {rule.key}, f"the questions are {asked}")
        client.close()
        server.close()
        for file in bench.folder.glob("journal.sqlite*"):
            file.unlink()


@case("server-drains", "a server that is stopped and started again under load loses nothing", weight=6)
def server_drains(bench):
    server, proxy, client = bench.setting("--retry", "100ms", journal="file")
    client.follow_all(SESSIONS, **FROM_START)
    load = Load(client)
    for round in range(6):
        load.submit(20)
        server.process.send_signal(signal.SIGTERM)
        load.submit(20)
        server.terminate()
        load.submit(5)
        server.start()
        proxy.upstream = server.port
        client.wake()
        if round % 2:
            client.wait_for(load.sent[SESSIONS[0]])
    load.finish(server)


@case("server-forgets", "a session that the server has lost is made again, and gets what is not done")
def server_forgets(bench):
    server, proxy, client = bench.setting()
    client.follow("room", **FROM_START)
    for round in range(5):
        client.submit("room", alert(f"{round} lost"), f"{round} lost")
        client.wait_for([f"{round} lost"])
        client.wait_to_see("room", f"{round} lost")
        begun = len(client.story["room"])
        proxy.refuse()
        client.submit("room", alert(f"{round} kept"), f"{round} kept")
        client.wait_for([f"{round} kept"], "queued")
        server.kill()
        server.start()
        proxy.upstream = server.port
        proxy.accept()
        client.wake()
        client.wait_for([f"{round} kept"])
        expect_equal(server.alerts("room"), [f"{round} kept"], "the server's log")
        # The events do not continue those of the session that was lost.
        client.wait_to_see("room", f"{round} kept")
        client.wait_until("a reset", lambda: any(
            event["event"] == "reset" for event in client.story["room"][begun:]))
    server.alert("room", "last")
    client.wait_to_see("room", "last")
    expect_equal(client.look("room")["shown"], server.read("room")["state"], "the shown state")


@case("server-forgets-joined", "a session that must exist ends if the server has lost it, and refuses actions")
def server_forgets_joined(bench):
    server, proxy, client = bench.setting()
    server.make("room")
    client.follow("room", None, **FROM_START)
    proxy.refuse()
    client.submit("room", alert("late"), "late")
    client.wait_for(["late"], "queued")
    server.kill()
    server.start()
    proxy.upstream = server.port
    proxy.accept()
    client.wake()
    failure = client.failure("late")
    # Its first attempt had no answer: it may have been applied before the server forgot.
    expect(failure["kind"] in ("ended", "in_doubt") or failure.get("code") == "unknown_session",
           f"it is {failure}")
    client.wait_until("the end", lambda: client.count("room", "ended") == 1)
    expect_equal(client.story["room"][-1]["reason"], "unknown", "the reason of the end")
    expect_equal(server.request("GET", "/v1/sessions/room")[0], 404, "the status of the session")


@case("offline-queue", "1000 actions of an offline program are applied once, although it is killed", weight=5)
def offline_queue(bench):
    server, proxy, client = bench.setting(journal="file", outbox="outbox")
    client.follow_all(SESSIONS)
    proxy.refuse()
    sent = {session: [] for session in SESSIONS}
    tickets = []
    for number in range(1000):
        session = SESSIONS[number % len(SESSIONS)]
        tickets.append(f"{session} {number}")
        sent[session].append(tickets[-1])
        client.submit(session, alert(tickets[-1]), tickets[-1])
    client.wait_for(tickets, "queued")
    client.kill()
    # Once more, still offline; then while it sends.
    client = bench.client(proxy, "outbox")
    client.kill()
    client = bench.client(proxy, "outbox")
    rules = [proxy.rule(f"/v1/sessions/{session}/actions", "answer", 40 * index, times=1)
             for index, session in enumerate(SESSIONS)]
    proxy.accept()
    client.wake()
    proxy.wait("a first answer", lambda: any(rule.hit.is_set() for rule in rules))
    client.kill()
    client = bench.client(proxy, "outbox")
    for session, messages in sent.items():
        expect_equal(server.wait_for_alerts(session, len(messages)), messages, f"the actions of {session}")
    # The sentinel is behind everything that the outbox still has.
    client.follow_all(SESSIONS)
    for session, messages in sent.items():
        client.submit(session, alert("last"), f"{session} last")
        client.wait_for([f"{session} last"])
        expect_equal(server.alerts(session), messages + ["last"], f"the actions of {session}")
        expect(client.look(session)["pending"] == 0, f"something of {session} is pending")


@case("client-killed", "a client that is killed between writing and sending sends the same once", weight=6)
def client_killed(bench):
    server, proxy, client = bench.setting(outbox="outbox")
    client.follow("room")
    path, sent = "/v1/sessions/room/actions", []

    def submit(count):
        for _ in range(count):
            sent.append(f"{len(sent)}")
            client.submit("room", alert(sent[-1]), sent[-1])
        return sent[-count:]

    for round in range(16):
        way, rule = round % 4, None
        if way == 0:  # It is in the outbox under its key, and no byte of it leaves.
            proxy.refuse()
            new = submit(3)
            client.wait_for(new[:1], "sent")
            client.wait_for(new, "queued")
        else:
            if way == 1:  # It has left, and does not arrive.
                rule = proxy.rule(path, "request", bench.random.randrange(1, 150), how="hold")
            elif way == 2:  # It is applied, and the answer is not read.
                rule = proxy.rule(path, "answer", bench.random.randrange(1, 150), how="hold")
            else:  # It is applied, and the connection ends with the program.
                rule = proxy.rule(path, "answer", 0, then=client.strike)
            new = submit(3)
            client.wait_for(new, "queued") if way < 3 else None
            proxy.wait("the request", rule.hit.is_set)
        client.kill()
        durable = [one for one in new if client.has_reached([one], "queued")]
        proxy.accept()
        client = bench.client(proxy, "outbox")
        client.follow("room")
        marker = f"marker {round}"
        client.submit("room", alert(marker), marker)
        client.wait_for([marker])
        truth = server.alerts("room")
        # Those that were not durable yet may be lost, from the end.
        applied = [one for one in truth if one in new]
        expect_equal(applied, new[:len(applied)], f"the actions of round {round}, way {way}")
        expect(set(durable) <= set(applied), f"round {round}: {durable} were durable, and {applied} applied")
        if rule is not None:
            count = sum(post.key == rule.key for post in proxy.attempts(path))
            expect(count == 2, f"round {round}: the request was sent {count} times under its key")
        sent[-len(new):] = applied
        sent.append(marker)
        expect_equal(truth, sent, f"the server's log after round {round}")


@case("refusal-kept", "a refusal that nobody has seen is told to the next program, until it is seen")
def refusal_kept(bench):
    server, proxy, client = bench.setting(outbox="outbox")
    client.follow("room")
    proxy.refuse()
    for ticket, action in [("good", alert("good")), ("bad", {"type": "nonsense"})]:
        client.submit("room", action, ticket)
    client.wait_for(["good", "bad"], "queued")
    client.kill()
    proxy.accept()
    for see in (False, True):
        client = bench.client(proxy, "outbox")
        client.wake()
        refusal = client.wait_until("the refusal", lambda: client.refusals[:1])[0]
        expect_equal((refusal["session"], refusal["failure"].get("code")), ("room", "not_an_action"),
                     "the refusal")
        expect_equal(server.wait_for_alerts("room", 1), ["good"], "the server's log")
        if see:
            client.call("dismiss", refusal=refusal["refusal"])
            client.call("close")
        client.kill()
    client = bench.client(proxy, "outbox")
    client.follow("room")
    proxy.refuse()
    # The sentinel: nobody sees this refusal, and refusals come in their order.
    client.submit("room", {"type": "nonsense too"}, "second")
    client.wait_for(["second"], "queued")
    client.kill()
    proxy.accept()
    client = bench.client(proxy, "outbox")
    client.wake()
    client.wait_until("the second refusal", lambda: client.refusals)
    expect("nonsense too" in client.refusals[0]["failure"]["detail"],
           f"a refusal that was seen has come again: {client.refusals}")


@case("one-outbox-one-client", "an outbox that is in use, or another account's, is not opened")
def one_outbox_one_client(bench):
    server, proxy, client = bench.setting(outbox="outbox", account="ada")
    client.follow("room")

    def failure(**members):
        try:
            bench.client(proxy, "outbox", **members)
        except Refused as refused:
            return refused.failure["kind"]
        return None

    expect(failure(account="ada") == "outbox_unavailable", "two programs have one outbox")
    client.submit("room", alert("one"), "one")
    client.wait_for(["one"])
    client.call("close")
    client.kill()
    expect(failure(account="bob") == "outbox_unavailable", "another account's outbox is opened")
    expect(failure(account="ada") is None, "the outbox is not opened again")
    expect_equal(server.alerts("room"), ["one"], "the server's log")


@case("closed", "a client that is closed ends its connections, and its outbox has the rest")
def closed(bench):
    server, proxy, client = bench.setting(outbox="outbox")
    client.follow("room")
    proxy.refuse()
    tickets = [f"{number}" for number in range(10)]
    for ticket in tickets:
        client.submit("room", alert(ticket), ticket)
    client.wait_for(tickets, "queued")
    # Before the client can try again by itself.
    rule = proxy.rule("/v1/sessions/room/actions", "answer", 10, how="hold")
    proxy.accept()
    client.wake()
    proxy.wait("the request", rule.hit.is_set)
    client.call("close")
    for ticket in tickets:
        failure = client.failure(ticket)
        expect(failure["kind"] == "closed", f"{ticket} is {failure}")
    proxy.wait("the end of all connections", lambda: not proxy.open_streams())
    client = bench.client(proxy, "outbox")
    client.follow("room")
    client.submit("room", alert("last"), "last")
    client.wait_for(["last"])
    expect_equal(server.alerts("room"), tickets + ["last"], "the server's log")
