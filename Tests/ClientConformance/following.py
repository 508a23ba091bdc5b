"""Events: each once, whatever happens to the streams that bring them."""
import threading
import time

from adapter import Refused
from bench import case
from servers import alert, token, SECRET
from support import expect, expect_equal

FROM_START = {"from": "start"}


def end_of_waits(client, session="room"):
    """Has the client try again whenever it waits: what is tested is not how long that is."""
    def watch():
        seen = 0
        while not client.is_over:
            with client.changing:
                client.changing.wait_for(lambda: len(client.statuses[session]) > seen or client.is_over)
                seen = len(client.statuses[session])
            if not client.is_over and client.statuses[session][-1]["status"] == "waiting":
                client.wake()
    threading.Thread(target=watch, daemon=True).start()


@case("streams-cut", "a stream that is cut at any byte loses and repeats no event", weight=6)
def streams_cut(bench):
    server, proxy, client = bench.setting()
    client.follow_all(["room", "other"], **FROM_START)
    end_of_waits(client)
    # A head and some events, at every third byte; the next one as far behind as it takes.
    proxy.stream_bytes = lambda number: 1 + number * 3 % 900
    proxy.drop(others=False)
    count = 0
    while len(proxy.streams) < 300:
        for session in ("room", "other"):
            server.alert(session, f"{count} “é”")
        if count % 2:
            for session in ("room", "other"):
                client.wait_to_hear(session, f"{count} “é”")
        count += 1
        expect(count < 5000, f"only {len(proxy.streams)} streams")
    proxy.stream_bytes = None
    proxy.drop(others=False)
    for session in ("room", "other"):
        server.alert(session, "last")
        client.wake()
        client.wait_to_hear(session, "last")
    for session in ("room", "other"):
        expect_equal(client.heard(session), server.alerts(session), f"the values of {session}")
        expect(client.count(session, "reset") == 0, f"{session} has had a reset")


@case("patches", "a large state that comes as patches is the server's at each version, wherever streams are cut")
def patches(bench):
    server, proxy, client = bench.setting()
    server.make("room", "chat")

    def say(number):
        server.post("room", {"type": "say", "author": "ada", "text": f"{number} " + "“é”" * 60})

    def state(number):
        """The one after this number of messages."""
        texts = [f"{one} " + "“é”" * 60 for one in range(number)]
        messages = [{"number": one + 1, "author": "ada", "text": text} for one, text in enumerate(texts)]
        return {"newest": messages[-1], "messages": messages[-100:], "count": number}

    for number in range(60):
        say(number)
    client.follow("room", "chat", **{"from": "present"})
    end_of_waits(client)
    proxy.stream_bytes = lambda number: 400 + number * 4_111 % 60_000
    proxy.drop(others=False)
    count = 60
    while len(proxy.streams) < 40:
        say(count)
        count += 1
        if count % 3:
            client.wait_to_read("each message", "room", lambda found: found["confirmed"]["count"] == count)
        expect(count < 2_000, f"only {len(proxy.streams)} streams")
    proxy.stream_bytes = None
    proxy.drop(others=False)
    for _ in range(5):
        say(count)
        count += 1
        client.wake()
        client.wait_to_read("each message", "room", lambda found: found["confirmed"]["count"] == count)
    expect_equal(client.look("room")["confirmed"], server.read("room")["state"], "the confirmed state")
    seen = [event["state"] for event in client.story["room"] if event["event"] in ("present", "state")]
    for one in seen:
        expect_equal(one, state(one["count"]), f"the state with {one['count']} messages")
    # A client may report the first one as its initial state, not as an event.
    versions = [one["count"] for one in seen]
    expect_equal(versions, list(range(min(versions[0], 61), count + 1)), "the versions")
    # A client need not ask; an older server has refused.
    if "form=patch" in proxy.streams[-1]:
        expect(proxy.patches > 0, "no state has come as a patch")


@case("away-too-long", "a client that was away longer than history is kept is told, and has the right state")
def away_too_long(bench):
    server, proxy, client = bench.setting("--keep-records", "20")
    client.follow("room", **FROM_START)
    server.alert("room", "seen")
    client.wait_to_hear("room", "seen")
    for round in range(3):
        begun = len(client.story["room"])
        proxy.refuse()
        messages = [f"{round} missed {number}" for number in range(100)]
        for message in messages:
            server.alert("room", message)
        client.submit("room", {"type": "doSomeAction"}, f"own {round}")
        proxy.accept()
        client.wake()
        # A client that opens a second stream may be told twice, and has the state only behind that.
        client.wait_until("the state behind a reset", lambda: any(
            event["event"] == "present" and event["state"]["alertMessage"] == messages[-1]
            for event in client.story["room"][begun:]))
        client.wait_for([f"own {round}"])
        server.alert("room", f"after {round}")
        client.wait_to_hear("room", f"after {round}")
        client.wait_to_see("room", f"after {round}")
        story = client.story["room"][begun:]
        index = max((number for number, event in enumerate(story) if event["event"] == "reset"), default=-1)
        expect(index >= 0, "the client was away, and has had no reset")
        expect(story[index]["reason"] == "trimmed", f"the reset is {story[index]}")
        expect(story[index + 1]["event"] == "present", f"behind the reset is {story[index + 1]}")
        expect_equal(story[index + 1]["state"]["alertMessage"], messages[-1], "the state behind the reset")
        expect(not set(client.heard("room")) & set(messages), "a missed event has come as an event")
        present, truth = client.look("room"), server.read("room")
        expect_equal(present["confirmed"], truth["state"], "the confirmed state")
        expect_equal(present["shown"], truth["state"], "the shown state")


@case("saved-position", "a new program that has saved a position gets what follows it, once")
def saved_position(bench):
    server, proxy, client = bench.setting(journal="file")
    client.follow("room", **FROM_START)
    heard = []
    for round in range(6):
        server.alert("room", *[f"{round} here {number}" for number in range(5)])
        last = f"{round} here 4"
        client.wait_to_hear("room", last)
        values = client.heard("room")
        # Anywhere within the events: also between those of one record.
        events = [event for event in client.story["room"] if event["event"] in ("happened", "state")]
        saved = bench.random.choice(events)
        values = [event["value"] for event in events[:events.index(saved) + 1]
                  if event["event"] == "happened"]
        heard += values
        client.kill()
        server.alert("room", f"{round} away")
        client = bench.client(proxy)
        client.follow("room", after=saved["position"])
    server.alert("room", "last")
    client.wait_to_hear("room", "last")
    heard += client.heard("room")
    expect_equal(heard, server.alerts("room"), "the values that all programs have had")


@case("saved-state", "without a network the last known state is shown, and later each event since then comes")
def saved_state(bench):
    server, proxy, client = bench.setting(outbox="outbox", journal="file")
    heard = []
    for round in range(5):
        client.follow("room", **{"from": "saved" if round else "start"})
        if round:
            # Nobody has been connected yet.
            present = client.look("room")
            expect(present["confirmed"]["alertMessage"] in (f"{round - 1} last", f"{round - 1} silent"),
                   f"the saved state is {present}")
            client.submit("room", {"type": "doSomeAction"}, "offline")
            client.wait_for(["offline"], "queued")
            proxy.accept()
            client.wake()
            client.wait_for(["offline"])
        server.alert("room", f"{round} here")
        server.alert("room", f"{round} last")
        client.wait_to_see("room", f"{round} last")
        client.wait_to_read("a live state", "room", lambda found: found["confirmed"]["actions"] == round)
        if round % 2:
            # A state that is read beside a silent stream is ahead of the events.
            for pipe in list(proxy.pipes):
                if pipe.is_stream:
                    pipe.silence()
            server.alert("room", f"{round} unheard")
            client.submit("room", alert(f"{round} silent"), "silent")
            client.wait_to_read("a state that is read", "room",
                                lambda found: found["confirmed"].get("alertMessage") == f"{round} silent")
        client.call("leave", session="room")
        client.call("close")
        heard += client.heard("room")
        expect(client.count("room", "reset") == 0, "there was a reset")
        client.kill()
        proxy.refuse()
        server.alert("room", f"{round} missed")
        client = bench.client(proxy, "outbox")
    # The last one gets what none of them was there for.
    client.follow("room", **{"from": "saved"})
    proxy.accept()
    client.wake()
    server.alert("room", "end")
    client.wait_to_hear("room", "end")
    heard += client.heard("room")
    expect(client.count("room", "reset") == 0, "there was a reset")
    expect_equal(heard, server.alerts("room"), "the values that all programs have had")
    expect_equal(server.read("room")["state"]["actions"], 4, "the number of actions")


@case("position-behind-answers", "the position to save is that of the events, whatever an answer has shown")
def position_behind_answers(bench):
    server, proxy, client = bench.setting()
    client.follow("room", **FROM_START)
    server.alert("room", "heard")
    client.wait_to_see("room", "heard")
    # The stream is silent from now on; requests pass.
    for pipe in list(proxy.pipes):
        if pipe.is_stream:
            pipe.silence()
    client.submit("room", alert("unheard"), "unheard")
    client.wait_to_read("a state that is read", "room",
                        lambda found: found["confirmed"].get("alertMessage") == "unheard")
    saved = client.look("room")["position"]
    client.kill()
    heard = client.heard("room")
    client = bench.client(proxy)
    client.follow("room", after=saved)
    server.alert("room", "last")
    client.wait_to_hear("room", "last")
    expect_equal(heard + client.heard("room"), ["heard", "unheard", "last"], "the values of both programs")


@case("forty-sessions", "sessions on one stream that are joined, left and deleted have each event once", weight=8)
def forty_sessions(bench):
    server, proxy, client = bench.setting("--loops", "3")
    choose = bench.random
    sessions = [f"room-{number}" for number in range(40)]
    for session in sessions:
        server.make(session)
    followed, deleted, counts = set(), set(), {session: 0 for session in sessions}
    kept = {session: [] for session in sessions}  # The stories of the times before the present one.
    first = {}  # The number of messages before the present time.

    def join(session):
        after = server.read(session)["position"]
        first[session] = counts[session]
        followed.add(session)
        return client.command("follow", session=session, reactor="alerts", after=after)

    def post(session):
        server.alert(session, f"{session} {counts[session]}")
        counts[session] += 1

    for number in [join(session) for session in sessions[:30]]:
        client.reply(number, "follow")
    for turn in range(60):
        for _ in range(10):
            post(choose.choice([one for one in sessions if one not in deleted]))
        kind = choose.random()
        if kind < 0.5 and len(followed) < 40 - len(deleted):
            session = choose.choice([one for one in sessions if one not in followed | deleted])
            number = join(session)
            post(session)
            client.reply(number, "follow")
        elif kind < 0.8 and len(followed) > 10:
            session = choose.choice(sorted(followed))
            finish(client, session, counts, first)
            client.call("leave", session=session)
            client.story[session].clear()
            followed.discard(session)
        elif len(deleted) < 10:
            session = choose.choice(sorted(followed))
            server.delete(session)
            deleted.add(session)
            followed.discard(session)
            client.wait_until(f"the end of {session}", lambda: client.count(session, "ended") == 1)
            expect_heard(client, session, counts, first)
    for session in sorted(followed):
        finish(client, session, counts, first)
        expect(client.count(session, "ended") == 0, f"{session} has ended")
    # Those that were replaced end when their ends have been read.
    proxy.wait(f"at most two streams for {len(followed)} sessions", lambda: proxy.open_streams() <= 2)


def finish(client, session, counts, first):
    if counts[session] > first[session]:
        client.wait_to_hear(session, f"{session} {counts[session] - 1}")
    expect_heard(client, session, counts, first)


def expect_heard(client, session, counts, first):
    expected = [f"{session} {number}" for number in range(first[session], counts[session])]
    expect_equal(client.heard(session), expected, f"the values of {session}")
    expect(client.count(session, "reset") == 0, f"{session} has had a reset")


@case("deleted", "a deleted session ends, and what is sent to it is refused")
def deleted(bench):
    server, proxy, client = bench.setting()
    client.follow_all(["room", "other"], **FROM_START)
    client.submit("room", alert("one"), "one")
    client.wait_for(["one"])
    proxy.refuse()
    tickets = [f"{number}" for number in range(5)]
    for ticket in tickets:
        client.submit("room", alert(ticket), ticket)
    client.wait_for(tickets, "queued")
    server.delete("room")
    proxy.accept()
    client.wake()
    for ticket in tickets:
        failure = client.failure(ticket)
        # An attempt of the first had no answer: it may have been applied before the session was deleted.
        is_doubt = ticket == tickets[0] and failure["kind"] == "in_doubt"
        expect(is_doubt or failure["kind"] == "ended" or failure.get("status") == 410,
               f"{ticket} is {failure}")
    client.wait_until("the end", lambda: client.count("room", "ended") == 1)
    ended = client.story["room"][-1]
    expect((ended["event"], ended["reason"]) == ("ended", "deleted"), f"the last event is {ended}")
    # The other one on the same stream is as before.
    client.submit("other", alert("other"), "other")
    client.wait_for(["other"])
    client.wait_to_hear("other", "other")
    expect(client.count("other", "ended") == 0, "another session has ended")


@case("refused-sessions", "a session that cannot be followed is refused in the server's words")
def refused_sessions(bench):
    server, proxy, client = bench.setting()
    server.make("alerts")
    server.make("gone")
    server.delete("gone")

    def failure(session, reactor):
        try:
            client.follow(session, reactor)
        except Refused as refused:
            return refused.failure
        expect(False, f"{session} of {reactor} is followed")

    for session, reactor, expected in [
        ("alerts", "chat", ("refused", 409, "other_reactor", None)),
        ("new", "nobody", ("refused", 422, "unknown_reactor", None)),
        ("missing", None, ("ended", None, None, "unknown")),
        ("gone", "alerts", ("ended", None, None, "deleted")),
        ("gone", None, ("ended", None, None, "deleted")),
    ]:
        found = failure(session, reactor)
        found = (found["kind"], found.get("status"), found.get("code"), found.get("reason"))
        expect_equal(found, expected, f"{session} of {reactor}")
    expect(failure("no id", "alerts")["kind"] == "bad_session_id", "an id with a space")
    for address in ("ftp://127.0.0.1", "127.0.0.1", "http://127.0.0.1/?a=b", "http://127.0.0.1/#a", ""):
        try:
            bench.adapter().open(address)
            expect(False, f"the address {address} is accepted")
        except Refused as refused:
            expect(refused.failure["kind"] == "bad_address", f"{address}: {refused.failure}")
    client.follow("alerts")


class Tokens:
    """Answers questions for credentials by the order in which they come."""

    def __init__(self, client, *first, then):
        self.first, self.then, self.given, self.refused = list(first), then, [], set()
        client.answer = self.answer

    def answer(self, question):
        if question["refused"] is not None:
            self.refused.add(question["refused"])
        text = self.first.pop(0) if self.first else self.then()
        self.given.append((question["refused"], text))
        return {"token": text}


def guarded(bench, *options):
    """A server with tokens, and a proxy."""
    path = bench.folder / "secret"
    path.write_bytes(SECRET)
    server = bench.server("--auth", "jwt", "--jwt-secret-file", str(path), "--jwt-leeway", "0", *options)
    server.token = token(3600)
    return server, bench.proxy(server)


@case("tokens-expire", "a token that expires during a stream is replaced, and no event is lost", weight=7)
def tokens_expire(bench):
    server, proxy = guarded(bench)
    client = bench.client(proxy, credentials=True)
    # The second one longer: a stream that does not live for 5 s is no success, and the next one waits.
    lives = [3, 9, 600]
    tokens = Tokens(client, then=lambda: token(lives[min(len(tokens.refused), 2)]))
    client.follow("room", **FROM_START)
    sent = []
    while len(tokens.refused) < 2 or len(sent) % 10:
        sent.append(f"{len(sent)}")
        if len(sent) % 10:
            server.alert("room", sent[-1])
        else:
            client.submit("room", alert(sent[-1]), sent[-1])
            client.wait_for([sent[-1]])
        client.wait_to_hear("room", sent[-1])
        time.sleep(0.02)  # The load, not a wait: tokens live for seconds.
        expect(len(sent) < 5_000, "no token has expired")
    server.alert("room", "last")
    client.wait_to_hear("room", "last")
    expect_equal(client.heard("room"), sent + ["last"], "the pulse's values")
    expect_equal(server.alerts("room"), sent + ["last"], "the server's log")
    expect(client.count("room", "reset") == 0, "there was a reset")
    for refused, _ in tokens.given:
        expect(refused is None or refused in [given for _, given in tokens.given],
               f"the client says that {refused} was refused, which it never had")


@case("tokens-refused", "after a 401 another token is asked for; a second 401 pauses, and settles nothing")
def tokens_refused(bench):
    server, proxy = guarded(bench)
    client = bench.client(proxy, credentials=True)
    bad = [token(600, b"x" * 32, own=bool(number)) + "x" * number for number in range(8)]
    tokens = Tokens(client, bad[0], then=lambda: token(600))
    client.follow("room", **FROM_START)
    expect(tokens.given[1][0] == bad[0], f"the second question was {tokens.given[1][0]!r:.60}")
    tokens.first = [bad[1]]
    client.submit("room", alert("one"), "one")
    client.wait_for(["one"])
    tokens.first = bad[2:4]
    for ticket in ("two", "three"):
        client.submit("room", alert(ticket), ticket)
    client.wait_for(["two", "three"])
    client.wait_to_hear("room", "three")
    expect_equal(server.alerts("room"), ["one", "two", "three"], "the server's log")
    expect_equal(client.heard("room"), ["one", "two", "three"], "the pulse's values")


@case("forbidden", "a session that a token does not grant ends, and the others of its stream do not")
def forbidden(bench):
    server, proxy = guarded(bench)
    for session in ("mine", "yours"):
        server.make(session)
    client = bench.client(proxy, credentials=True)
    Tokens(client, then=lambda: token(600, sessions=["mine"], verbs=["read"]))
    client.follow("mine", None, **FROM_START)
    try:
        client.follow("yours", None)
        expect(False, "a forbidden session is followed")
    except Refused as refused:
        failure = refused.failure
        expect(failure.get("reason") == "forbidden" or failure.get("status") == 403, f"it is {failure}")
    client.submit("mine", alert("refused"), "refused")
    failure = client.failure("refused")
    expect_equal((failure["kind"], failure.get("status"), failure.get("code")), ("refused", 403, "forbidden"),
                 "an action that the token does not grant")
    server.alert("mine", "one")
    client.wait_to_hear("mine", "one")
    expect_equal(client.heard("mine"), ["one"], "the pulse's values")


@case("stalled-reader", "a reader that stops reading holds up nobody, and has everything afterwards", weight=4)
def stalled_reader(bench):
    server, proxy, slow = bench.setting("--keep-records", "100", "--stall-timeout", "600s")
    other = bench.proxy(server)
    quick = bench.client(other)
    for client in (slow, quick):
        client.follow_all(["room", "side"], **FROM_START)
    for way in ("proxy", "program"):
        proxy.hold() if way == "proxy" else slow.stop()
        messages = [f"{way} {number} " + "x" * 900 for number in range(600)]
        for index in range(0, len(messages), 20):
            server.alert("room", *messages[index:index + 20])
            # The server keeps a hundred for a client that is slow, which this one is not.
            quick.wait_to_hear("room", messages[index + 19])
        server.alert("side", f"{way} side")
        quick.wait_to_hear("side", f"{way} side")
        expect_equal(quick.heard("room")[-600:], messages, "the values of the other client")
        proxy.accept() if way == "proxy" else slow.resume()
        hear_again(server, slow, "room", way)
        slow.wait_to_hear("side", f"{way} side")
        slow.wait_to_see("room", server.read("room")["state"]["alertMessage"])
        expect_equal(slow.look("room")["confirmed"], server.read("room")["state"], "the state")
    expect(slow.count("side", "reset") == 0, "the quiet session has had a reset")
    heard = slow.heard("room")
    expect(len(set(heard)) == len(heard), "an event has come twice")
    if slow.count("room", "reset") == 0:
        quick.wait_to_hear("room", heard[-1])
        expect_equal(heard, quick.heard("room"), "the values")


def hear_again(server, client, session, name):
    """Posts until one of the messages comes as an event: one that was posted before a reset may be in the state
    behind it instead."""
    for number in range(100):
        resets, message = client.count(session, "reset"), f"{name} last {number}"
        server.alert(session, message)
        client.wait_until(f"{message} of {session}, or a reset",
                          lambda: message in client.heard(session)[-50:] or client.count(session, "reset") > resets)
        if message in client.heard(session)[-50:]:
            return
    expect(False, f"{session} has a reset again and again")


@case("dead-line", "a line that is silent and does not end is replaced, and nothing is lost", weight=9)
def dead_line(bench):
    server, proxy, client = bench.setting()
    client.follow("room", **FROM_START)
    server.alert("room", "before")
    client.wait_to_hear("room", "before")
    # The connections that there are stay silent for ever; new ones pass.
    for pipe in list(proxy.pipes):
        pipe.silence()
    client.submit("room", alert("unanswered"), "unanswered")
    proxy.wait("the request", lambda: proxy.posts)
    server.alert("room", "unheard")
    client.wait_to_hear("room", "unheard")
    client.wait_for(["unanswered"])
    server.alert("room", "last")
    client.wait_to_hear("room", "last")
    truth = server.alerts("room")
    expect_equal(sorted(truth), ["before", "last", "unanswered", "unheard"], "the server's log")
    expect_equal(client.heard("room"), truth, "the pulse's values")
