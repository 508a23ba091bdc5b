#!/usr/bin/env python3
"""Posts large JSON bodies as fast as they are answered: `large_bodies.py PORT PATH deep|wide`.

It stands for clients on other machines. A sender on the server's machine delivers its packets itself (loopback),
and a kernel without preemption lets nobody have the processor meanwhile. So what it sends at once is small: 1 MB
at once (wrk) keeps the program that measures waiting for most of a millisecond.
"""
import socket
import sys
import threading

CONNECTIONS = 4
PIECE = 64 << 10

BODIES = {
    "deep": lambda: b"[" * 500_000 + b"]" * 500_000,
    "wide": lambda: b"{" + b",".join(b'"k%d":%d' % (index, index) for index in range(1, 60_001)) + b"}",
}


def flood(port, message):
    pieces = [message[start:start + PIECE] for start in range(0, len(message), PIECE)]
    with socket.create_connection(("127.0.0.1", port)) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PIECE)
        while True:
            for piece in pieces:
                one.sendall(piece)
            if not one.recv(65_536):
                sys.exit("error: the server closed the connection")


def main():
    port, path, name = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    body = BODIES[name]()
    head = (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode()
    for _ in range(CONNECTIONS):
        threading.Thread(target=flood, args=(port, head + body)).start()


if __name__ == "__main__":
    main()
