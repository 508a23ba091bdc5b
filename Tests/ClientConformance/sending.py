"""Actions on a network that cuts, holds and refuses, with a server that answers otherwise than usual."""
import itertools
import json
import socket
import time

from adapter import Refused
from bench import case
from servers import alert
from support import LIMIT_SECONDS, expect, expect_equal

SESSIONS = [f"room-{number}" for number in range(24)]


def cut_everywhere(bench, side, step):
    """Cuts the POSTs of several sessions at once, each at another byte, until a cut is behind the end."""
    server, proxy, client = bench.setting()
    client.follow_all(SESSIONS)
    offsets, sent, cuts = itertools.count(0, step), {session: [] for session in SESSIONS}, 0
    while True:
        rules, tickets = [], []
        for session in SESSIONS:
            at = next(offsets)
            rules.append(proxy.rule(f"/v1/sessions/{session}/actions", side, at,
                                    how="reset" if at // step % 2 else "end"))
            message = f"{session} {at}"
            client.submit(session, alert(message), message)
            sent[session].append(message)
            tickets.append(message)
        client.wait_for(tickets)
        hits = [rule for rule in rules if rule.has_cut]
        cuts += len(hits)
        for rule in hits:
            count = sum(post.key == rule.key for post in proxy.attempts(rule.path))
            expect(count > 1, f"a request that was cut at byte {rule.at} of its {side} was not sent again")
        if len(hits) < len(rules):
            break
    expect(cuts > 20, f"only {cuts} requests were cut")
    for session, messages in sent.items():
        expect_equal(server.alerts(session), messages, f"the actions of {session}")


@case("answers-cut", "a POST whose answer is cut at any byte is applied once", weight=8)
def answers_cut(bench):
    cut_everywhere(bench, "answer", 1)


@case("requests-cut", "a POST that is cut at any byte is applied once", weight=6)
def requests_cut(bench):
    cut_everywhere(bench, "request", 3)


@case("refused-connections", "actions of a time without a network are applied once, in order", weight=3)
def refused_connections(bench):
    server, proxy, client = bench.setting()
    client.follow("room", **{"from": "start"})
    sent = []

    def submit(count):
        for _ in range(count):
            sent.append(f"{len(sent)}")
            client.submit("room", alert(sent[-1]), sent[-1])

    for away in [proxy.refuse, proxy.reset, proxy.hold] * 3:
        submit(5)
        away()
        submit(5)
        client.wait_for(sent, "queued")
        proxy.accept()
        client.wake()
        client.wait_for(sent)
    expect_equal(server.alerts("room"), sent, "the server's log")
    client.wait_to_hear("room", sent[-1])
    expect_equal(client.heard("room"), sent, "the pulse's values")
    expect(client.look("room")["pending"] == 0, "something is pending")


@case("bytes-one-by-one", "bytes that come one by one, and slowly, are read as any others", weight=4)
def bytes_one_by_one(bench):
    server, proxy, client = bench.setting()
    proxy.piece = 1
    messages = [f"{number} “é” \U0001f642 \\ \" \n\r\t" for number in range(12)]
    client.follow("room", **{"from": "start"})
    for message in messages:
        client.submit("room", alert(message), message)
    client.wait_for(messages)
    client.wait_to_hear("room", messages[-1])
    expect_equal(client.heard("room"), messages, "the pulse's values")
    expect_equal(server.alerts("room"), messages, "the server's log")


def canned(status, code="", fields=(), body=None):
    """An answer that the proxy gives in place of the server."""
    text = json.dumps({"type": "about:blank", "title": "canned", "status": status, "code": code,
                       "detail": "a canned answer"}) if body is None else body
    kind = "application/problem+json" if body is None else "application/json"
    head = f"HTTP/1.1 {status} Canned\r\nContent-Type: {kind}\r\nContent-Length: {len(text)}\r\n"
    return (head + "".join(f"{field}\r\n" for field in fields) + "\r\n" + text).encode()


@case("doubtful-answers", "a POST is sent again, as it was, until its answer is one of this service", weight=3)
def doubtful_answers(bench):
    server, proxy, client = bench.setting()
    answers = [canned(status) for status in (408, 425, 429, 500, 502, 503, 504, 507)] + [
        canned(503, "draining", ["Retry-After: 0"]), canned(409, "request_running"),
        canned(200, body="{}"), canned(200, body="<html>"), canned(202, body="[1,"),
        canned(203, body="{}"), canned(299, body='{"position":"p"}')]
    sessions = [f"room-{number}" for number in range(len(answers))]
    client.follow_all(sessions)
    for session, answer in zip(sessions, answers):
        proxy.rule(f"/v1/sessions/{session}/actions", "instead", answer=answer)
        client.submit(session, alert(session), session)
    client.wait_for(sessions)
    for session in sessions:
        expect_equal(server.alerts(session), [session], f"the actions of {session}")
        attempts = proxy.attempts(f"/v1/sessions/{session}/actions")
        expect(len(attempts) == 2 and len(set(attempts)) == 1, f"the attempts of {session}: {attempts}")


@case("foreign-answers", "a redirection carries no action to another address, and a used key is a doubt", weight=2)
def foreign_answers(bench):
    server, proxy, client = bench.setting()
    other = bench.keep(socket.create_server(("127.0.0.1", 0)))
    away = f"Location: http://127.0.0.1:{other.getsockname()[1]}/v1/sessions/room/actions"
    client.follow("room", **{"from": "start"})
    for status in (301, 302, 303, 307, 308, 405):
        proxy.rule("/v1/sessions/room/actions", "instead", answer=canned(status, "", [away]))
        client.submit("room", alert(f"{status}"), f"{status}")
        client.wait_for([f"{status}"])
    proxy.rule("/v1/sessions/room/actions", "instead", answer=canned(403, "forbidden"))
    client.submit("room", alert("403"), "403")
    failure = client.failure("403")
    expect((failure["kind"], failure["status"], failure["code"]) == ("refused", 403, "forbidden"),
           f"403 is {failure}")
    proxy.rule("/v1/sessions/room/actions", "instead", answer=canned(422, "key_reused"))
    client.submit("room", alert("key"), "key")
    failure = client.failure("key")
    expect(failure["kind"] == "in_doubt", f"a reused key is {failure}")
    client.submit("room", alert("last"), "last")
    client.wait_for(["last"])
    expect_equal(server.alerts("room"), ["301", "302", "303", "307", "308", "405", "last"], "the server's log")
    other.setblocking(False)
    try:
        other.accept()
        expect(False, "the client connected to the address of a redirection")
    except BlockingIOError:
        pass


def page(status):
    """An answer of something in between, which knows nothing of the service."""
    text = b"" if status in (204, 205, 304) else b"<html>not the service</html>"
    head = f"HTTP/1.1 {status} Page\r\nContent-Type: text/html\r\n"
    return (head + ("" if status in (204, 304) else f"Content-Length: {len(text)}\r\n") + "\r\n").encode() + text


def wake_until(client, what, holds):
    """Ends every wait again and again."""
    end = time.monotonic() + LIMIT_SECONDS
    while True:
        with client.changing:
            if client.changing.wait_for(holds, 0.2):
                return
        expect(time.monotonic() < end and not client.is_over, lambda: f"in vain: {what}{client.last_words()}")
        client.wake()


@case("foreign-pages", "pages of something in between, at each step, refuse nothing and end nothing", weight=6)
def foreign_pages(bench):
    """While a session is made, its events are asked for and its actions are sent; again while it is followed."""
    server, proxy, client = bench.setting()
    statuses = [200, 201, 202, 203, 204, 206, 302, 304, 307, 400, 401, 402, 403, 404, 405, 406, 409, 410, 411,
                412, 413, 415, 417, 418, 421, 422, 423, 426, 428, 429, 451, 500, 501, 502, 503, 504]
    sessions = {f"room-{status}": status for status in statuses}
    streams = "/v1/(sessions/[^/]+/)?events"
    for session, status in sessions.items():
        path = f"/v1/sessions/{session}"
        proxy.rule(path, "instead", method="PUT", answer=page(status), times=2)
        proxy.rule(path + "/actions", "instead", answer=page(status), times=2)
        proxy.rule(streams, "instead", method="GET", answer=page(status))
    numbers = [client.command("follow", session=session, reactor="alerts", **{"from": "start"})
               for session in sessions]
    wake_until(client, "the sessions", lambda: all(number in client.replies for number in numbers))
    for number in numbers:
        client.reply(number, "follow")
    expected = {session: [] for session in sessions}
    for round in range(2):
        for session, status in sessions.items():
            if round:
                proxy.rule(f"/v1/sessions/{session}/actions", "instead", answer=page(status), times=3)
                proxy.rule(streams, "instead", method="GET", answer=page(status))
            for number in range(3):
                expected[session].append(f"{session} {round} {number}")
                client.submit(session, alert(expected[session][-1]), expected[session][-1])
        if round:
            proxy.drop(others=False)
        tickets = [text for texts in expected.values() for text in texts]
        wake_until(client, "the actions", lambda: client.has_reached(tickets, "applied"))
        for session, texts in expected.items():
            wake_until(client, f"the events of {session}", lambda: texts[-1] in client.heard(session))
    for session, texts in expected.items():
        expect_equal(server.alerts(session), texts, f"the log of {session}")
        expect_equal(client.heard(session), texts, f"the values of {session}")
        expect(not client.count(session, "ended"), f"{session} has ended")
    expect(not client.refusals, lambda: f"refused: {client.refusals[0]}")


@case("foreign-deletion", "a deletion is believed when the service says that the session is gone")
def foreign_deletion(bench):
    """Something in between says 204 to the DELETE, with and without end."""
    server, proxy, client = bench.setting()
    for session in ("room", "other"):
        client.follow(session)
        rule = proxy.rule(f"/v1/sessions/{session}", "instead", method="DELETE", answer=page(204),
                          times=1 if session == "room" else 100)
        try:
            client.call("delete", session=session)
            expect(session == "room", "a deletion that the service has not seen is believed")
        except Refused as refused:
            expect(session == "other" and refused.failure["kind"] == "unreachable",
                   f"the deletion of {session} is {refused.failure}")
        expect(rule.hit.is_set(), "nothing in between has answered")
    status, problem = server.request("GET", "/v1/sessions/room")
    expect_equal((status, problem["code"]), (410, "session_ended"), "the deleted session")
    client.submit("other", alert("there"), "there")
    client.wait_for(["there"])


@case("running-request", "a POST that is still carried out is asked for until it has ended", weight=3)
def running_request(bench):
    server, proxy, client = bench.setting(fixture=True)
    client.follow("room", "held")
    # Its effect ends when another action releases it.
    rule = proxy.rule("/v1/sessions/room/actions", "answer", 0)
    number = client.command("send", session="room", settled=600_000,
                            actions=[{"type": "hold", "text": "once"}])
    proxy.wait("the first attempt", rule.hit.is_set)
    # The server says so in place of an answer: at least one attempt gets 409.
    proxy.wait("a second attempt", lambda: len(proxy.attempts("/v1/sessions/room/actions")) > 1)
    server.post("room", {"type": "release"})
    client.reply(number, "send")
    state = server.read("room")["state"]
    expect(state["text"] == "once" and state["holding"] == 1, f"the state is {state}")


@case("batches-narrowed", "an action that is refused leaves the others of its batch, in order", weight=3)
def batches_narrowed(bench):
    server, proxy, client = bench.setting("--body-limit", "2000", "--batch-limit", "32")
    client.follow("room")
    proxy.refuse()
    bad = {7: {"type": "nonsense"}, 23: alert("x" * 3000), 24: {"type": "alert", "message": 5}, 59: "text"}
    tickets = [f"{number}" for number in range(60)]
    for number, ticket in enumerate(tickets):
        client.submit("room", bad.get(number, alert(ticket)), ticket)
    client.wait_for(tickets, "queued")
    proxy.accept()
    client.wake()
    good = [ticket for number, ticket in enumerate(tickets) if number not in bad]
    client.wait_for(good)
    for number in bad:
        failure = client.failure(tickets[number])
        status, code = (413, "body_too_large") if number == 23 else (422, "not_an_action")
        expect((failure["kind"], failure.get("status"), failure.get("code")) == ("refused", status, code),
               f"action {number} is {failure}")
    expect_equal(server.alerts("room"), good, "the server's log")
    expect(client.look("room")["pending"] == 0, "something is pending")


@case("conditions", "of two clients that expect one position, one succeeds", weight=3)
def conditions(bench):
    server, proxy, one = bench.setting()
    two = bench.client(proxy)
    clients = {"one": one, "two": two}
    for client in clients.values():
        client.follow("room")
    won = []
    for round in range(25):
        position = server.read("room")["position"]
        numbers = {name: client.command("send", session="room", position=position,
                                        actions=[alert(f"{name} {round}")])
                   for name, client in clients.items()}
        results = {}
        for name, client in clients.items():
            try:
                client.reply(numbers[name], "send")
                results[name] = True
                won.append(f"{name} {round}")
            except Refused as refused:
                failure = refused.failure
                expect(failure["kind"] == "position_changed", f"round {round}: {failure}")
                expect_equal(failure["position"], server.read("room")["position"], "the failure's position")
        expect(len(results) == 1, f"round {round}: {list(results)} have succeeded")
    expect_equal(server.alerts("room"), won, "the server's log")


@case("two-writers", "two clients on one session lose nothing, and each keeps its order", weight=3)
def two_writers(bench):
    server, proxy, one = bench.setting()
    clients = {"one": one, "two": bench.client(proxy)}
    for client in clients.values():
        client.follow("room", **{"from": "start"})
    sent = {name: [f"{name} {number}" for number in range(80)] for name in clients}
    for pair in zip(*sent.values()):
        for name, message in zip(clients, pair):
            clients[name].submit("room", alert(message), message)
    for name, client in clients.items():
        client.wait_for(sent[name])
    truth = server.alerts("room")
    for name in clients:
        own = [message for message in truth if message.startswith(name)]
        expect_equal(own, sent[name], f"the actions of {name}")
    expect(len(truth) == 160, f"{len(truth)} actions")
    for name, client in clients.items():
        client.wait_to_hear("room", truth[-1])
        expect_equal(client.heard("room"), truth, f"what {name} has heard")


@case("discarded", "an action that was taken back before it left is not applied; the others are")
def discarded(bench):
    server, proxy, client = bench.setting()
    client.follow("room")
    proxy.refuse()
    tickets = [f"{number}" for number in range(20)]
    for ticket in tickets:
        client.submit("room", alert(ticket), ticket)
    client.wait_for(tickets, "queued")
    # The first one may have left.
    back = [ticket for ticket in tickets[10:] if client.call("discard", ticket=ticket)["discarded"]]
    expect(len(back) >= 9, f"only {back} could be taken back")
    for ticket in back:
        failure = client.failure(ticket)
        expect(failure["kind"] == "discarded", f"{ticket} is {failure}")
    proxy.accept()
    client.wake()
    left = [ticket for ticket in tickets if ticket not in back]
    client.wait_for(left)
    expect_equal(server.alerts("room"), left, "the server's log")


@case("own-actions-shown-once", "an own action is shown at once, and never twice, whatever comes first", weight=3)
def own_actions_shown_once(bench):
    """The answer before the event, the event before the answer, an answer that is lost."""
    server, proxy, client = bench.setting()
    reply = client.follow("room", "chat", predict=True, shown=True, **{"from": "start"})
    total = 0
    for round in range(12):
        path, rules = "/v1/sessions/room/actions", []
        if round % 3 == 1:
            # The event comes before: the stream is another connection.
            rules.append(proxy.rule(path, "answer", bench.random.randrange(200)))
        if round % 3 == 2:
            # The stream is lost, and the answer comes before.
            proxy.drop(others=False)
        for _ in range(4):
            total += 1
            client.submit("room", {"type": "say", "author": "ada", "text": f"{total}"}, f"{total}")
        client.wake()
        client.wait_for([f"{number}" for number in range(1, total + 1)])
    present = client.look("room")
    expect(present["shown"]["count"] == total, f"shown is {present['shown']}")
    # A state can be read before the stream has brought what leads to it.
    client.wait_until("the last value", lambda: f"{total}" in [
        value["text"] for value in client.heard("room", "newest")])
    client.wait_to_read("the confirmed state", "room", lambda found: found["confirmed"]["count"] == total)
    client.wait_until("the shown state", lambda: client.shown["room"][-1]["count"] == total)
    counts = [state["count"] for state in list(client.shown["room"])]
    expect(counts == sorted(counts), f"a shown count went back: {counts}")
    expect(max(counts) == total, f"a count of {max(counts)} was shown, of {total} actions")
    for state in client.shown["room"]:
        texts = [message["text"] for message in state["messages"]]
        expect_equal(texts, [f"{number}" for number in range(1, state["count"] + 1)], "a shown state")
    expect_equal([value["text"] for value in client.heard("room", "newest")],
                 [f"{number}" for number in range(1, total + 1)], "the pulse's values")
    if reply["predicts"]:
        # Offline, a submitted action is in the shown state and not in the confirmed one.
        proxy.refuse()
        client.submit("room", {"type": "say", "author": "ada", "text": "offline"}, "offline")
        client.wait_for(["offline"], "queued")
        present = client.look("room")
        expect((present["shown"]["count"], present["confirmed"]["count"]) == (total + 1, total),
               f"offline the client has {present}")
