"""A TCP proxy between a client and the server, which cuts, holds, resets, slows, refuses and answers."""
import collections
import re
import socket
import struct
import threading
import time

from support import Watched, expect

PIECE = 65536
Post = collections.namedtuple("Post", "path key body")


class Rule:
    """What happens to the next request that it matches.

    `side` is `request`: it is cut after `at` bytes, `answer`: its answer is, or `instead`: the proxy answers
    with the bytes `answer`. `how` is `end`, `reset` or `hold`, which leaves the connection open. `then` is
    called at that moment, on the thread of the connection. `hit` is set if the moment came; `length` is that of
    the whole request or answer, as far as it is known.
    """

    def __init__(self, path, side, at=0, how="end", method="POST", then=None, answer=None, times=1):
        self.path, self.side, self.at, self.how, self.method = path, side, at, how, method
        self.then, self.answer, self.times = then, answer, times
        self.hit = threading.Event()
        self.key = self.length = self.pipe = None

    @property
    def has_cut(self):
        """Whether something is missing on the other side."""
        return self.hit.is_set() and (self.length is None or self.at < self.length)

    def matches(self, method, path):
        return self.times > 0 and method == self.method and re.fullmatch(self.path, path)


class Proxy(Watched):
    """Passes HTTP/1.1 requests with a Content-Length, or without a body, and answers of any kind."""

    def __init__(self, upstream):
        super().__init__()
        self.upstream = upstream  # A port; changes when a server is started again.
        self.rules = []
        self.pipes = set()
        self.posts = []  # Every attempt whose bytes have all reached the proxy.
        self.streams = []  # The targets of the streams that were opened.
        self.patches = 0  # The states that have come as patches.
        self.piece = None  # The number of bytes that are passed at a time; None: as they come.
        self.stream_bytes = None  # After how many bytes the next stream is cut, by its number; None: never.
        self.is_resetting = False
        self.flowing = threading.Event()
        self.flowing.set()
        # Keeps the port while nobody listens there.
        self.guard = self.bound(0)
        self.port = self.guard.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.listener = None
        self.accept()

    def bound(self, port):
        end = socket.socket()
        end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        end.bind(("127.0.0.1", port))
        return end

    # --- modes

    def accept(self):
        """Connections are passed to the server."""
        self.is_resetting = False
        self.flowing.set()
        if self.listener is None:
            self.listener = self.bound(self.port)
            self.listener.listen(512)
            threading.Thread(target=self.run, args=(self.listener,), daemon=True).start()

    def refuse(self):
        """Nobody listens; the connections that there are end."""
        listener, self.listener = self.listener, None
        if listener:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.drop()

    def reset(self):
        """Connections are reset as soon as they are there."""
        self.is_resetting = True
        self.drop("reset")

    def hold(self):
        """Nothing passes, and no connection ends, until `accept`."""
        self.flowing.clear()

    def drop(self, how="end", streams=True, others=True):
        """Ends the connections that there are."""
        with self.changing:
            pipes = [pipe for pipe in self.pipes if (streams if pipe.is_stream else others)]
        for pipe in pipes:
            pipe.end(how)

    def close(self):
        self.refuse()
        self.flowing.set()
        self.guard.close()

    def rule(self, *arguments, **options):
        rule = Rule(*arguments, **options)
        with self.changing:
            self.rules.append(rule)
        return rule

    # --- connections

    def run(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        pipe = Pipe(self, client)
        with self.changing:
            self.pipes.add(pipe)
        try:
            if self.is_resetting:
                return pipe.end("reset")
            if self.listener is None:
                return pipe.end("end")
            pipe.upstream = socket.create_connection(("127.0.0.1", self.upstream))
            pipe.upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=pipe.back, daemon=True).start()
            pipe.forward()
        except OSError:
            pass
        finally:
            if not pipe.is_held:
                pipe.end("end")
            with self.changing:
                self.pipes.discard(pipe)
                self.changing.notify_all()

    def claim(self, method, path, pipe):
        """The rule of a request, which is used up."""
        with self.changing:
            for rule in self.rules:
                if rule.matches(method, path):
                    rule.times -= 1
                    rule.pipe = pipe
                    return rule
        return None

    def give_back(self, rule, pipe):
        """The server's connection was over before the rule's moment, which comes with the next request."""
        with self.changing:
            if rule.pipe is pipe and not rule.hit.is_set():
                rule.pipe = None
                rule.times += 1

    # --- what was seen

    def attempts(self, path):
        with self.changing:
            return [post for post in self.posts if re.fullmatch(path, post.path)]

    def open_streams(self):
        with self.changing:
            return sum(pipe.is_stream for pipe in self.pipes)

    def check(self):
        """What holds for every client, whatever the case is: a key goes with the same bytes only, or asks for
        its answer with an empty batch."""
        with self.changing:
            posts = list(self.posts)
        bodies = {}
        for post in posts:
            expect(post.key, f"a POST to {post.path} has no Idempotency-Key")
            expect(len(post.key) >= 16, f"the key {post.key} of {post.path} can be guessed")
            if post.body == b"[]":
                continue
            first = bodies.setdefault((post.path, post.key), post.body)
            expect(first == post.body,
                   f"{post.path} had under one key {first[:200]} and then {post.body[:200]}")


class Pipe:
    """A connection of the client, and its own to the server."""

    def __init__(self, proxy, client):
        self.proxy, self.client, self.upstream = proxy, client, None
        self.is_stream = self.is_held = self.is_silent = False
        self.rule = None
        self.budget = None  # Bytes of the answer until its rule's moment.
        self.count, self.answer = 0, b""
        self.ending = threading.Lock()

    def forward(self):
        data = b""
        while True:
            while b"\r\n\r\n" not in data:
                more = self.client.recv(PIECE)
                if not more:
                    return
                data += more
            end = data.index(b"\r\n\r\n") + 4
            head = data[:end].decode("latin-1")
            method, target, _ = head.split(" ", 2)
            fields = dict(re.findall(r"^([\w-]+):[ \t]*(.*?)\r$", head, re.M))
            fields = {name.lower(): value for name, value in fields.items()}
            end += int(fields.get("content-length", 0))
            while len(data) < end:
                more = self.client.recv(PIECE)
                if not more:
                    return
                data += more
            request, data = data[:end], data[end:]
            path = target.partition("?")[0]
            body = request[request.index(b"\r\n\r\n") + 4:]
            with self.proxy.changing:
                if method == "POST" and path.endswith("/actions"):
                    self.proxy.posts.append(Post(path, fields.get("idempotency-key"), body))
                if re.search(r"/(events|pulses|states|activities)$", path):
                    self.is_stream = True
                    if self.proxy.stream_bytes is not None:
                        self.budget = self.proxy.stream_bytes(len(self.proxy.streams))
                    self.proxy.streams.append(target)
                self.proxy.changing.notify_all()
            rule = self.proxy.claim(method, path, self)
            try:
                if not self.perform(rule, request, fields):
                    return
            except OSError:
                if rule:
                    self.proxy.give_back(rule, self)
                raise

    def perform(self, rule, request, fields):
        """Passes a request on; False if nothing more is passed."""
        self.rule, self.count, self.answer = rule, 0, b""
        if rule:
            rule.key = fields.get("idempotency-key")
            if rule.side == "request":
                rule.length = len(request)
                if rule.at:
                    self.pass_on(self.upstream, request[:rule.at])
                self.strike(rule)
                return False
            if rule.side == "instead":
                if rule.then:
                    rule.then()
                self.pass_on(self.client, rule.answer)
                rule.hit.set()
                self.proxy.changed()
                return True
            self.budget = rule.at
            if rule.at == 0:
                # Before the answer can be there: only this thread has the moment.
                self.pass_on(self.upstream, request)
                self.strike(rule)
                return False
        elif not self.is_stream:
            self.budget = None
        self.pass_on(self.upstream, request)
        return True

    def strike(self, rule):
        if rule.then:
            rule.then()
        if rule.how == "hold":
            self.is_held = True
        # Before the end: the client may have been answered on another connection when that returns.
        rule.hit.set()
        if rule.how != "hold":
            self.end(rule.how)
        self.proxy.changed()

    def back(self):
        try:
            while data := self.upstream.recv(PIECE):
                rule, budget = self.rule, self.budget
                if self.is_stream:
                    self.proxy.patches += len(re.findall(rb"^event: (?:[^/\n]*/)?patch$", data, re.M))
                if rule and rule.side == "answer" and rule.length is None:
                    self.answer += data
                    if found := re.search(rb"content-length: *(\d+).*?\r\n\r\n", self.answer, re.I | re.S):
                        rule.length = found.end() + int(found[1])
                if budget == 0 and rule and rule.at == 0:
                    return  # The other thread has the moment.
                if budget is not None and self.count + len(data) >= budget > 0:
                    self.pass_on(self.client, data[:budget - self.count])
                    if rule is None:
                        return self.end("reset" if budget % 2 else "end")
                    return self.strike(rule)
                self.count += len(data)
                self.pass_on(self.client, data)
        except OSError:
            pass
        rule = self.rule
        if rule and rule.side == "answer" and rule.at and (rule.length is None or self.count < rule.length):
            self.proxy.give_back(rule, self)
        if not self.is_held:
            self.end("end")

    def silence(self):
        """Nothing passes any more, and the connection does not end."""
        self.is_silent = self.is_held = True

    def pass_on(self, end, data):
        self.proxy.flowing.wait()
        if self.is_silent:
            return
        piece = self.proxy.piece
        if piece is None:
            return end.sendall(data)
        for first in range(0, len(data), piece):
            end.sendall(data[first:first + piece])
            time.sleep(0.0002)

    def end(self, how):
        with self.ending:
            if how == "reset":
                try:
                    self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                except OSError:
                    pass
            for end in (self.client, self.upstream):
                try:
                    # The other thread waits for bytes, and would keep the connection open.
                    if end:
                        end.shutdown(socket.SHUT_RD if how == "reset" else socket.SHUT_RDWR)
                except OSError:
                    pass
                if end:
                    end.close()
