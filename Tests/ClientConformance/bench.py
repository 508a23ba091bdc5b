"""The cases, and what each of them works with."""
import pathlib
import random
import shutil
import tempfile
import time

from adapter import Adapter
from proxy import Proxy
from servers import Server
from support import Fault

CASES = []


def case(name, promise, weight=1):
    """Registers a case. Those with more weight, which take longer, begin first."""
    def register(function):
        CASES.append(Case(name, promise, weight, function))
        return function
    return register


class Case:
    def __init__(self, name, promise, weight, function):
        self.name, self.promise, self.weight, self.function = name, promise, weight, function

    def run(self, settings):
        """Returns the fault, or None, and the seconds that the case took."""
        began = time.monotonic()
        bench = Bench(settings, self.name)
        fault = None
        try:
            self.function(bench)
            bench.check()
        except Fault as found:
            fault = str(found)
        except Exception as found:
            place = found.__traceback__
            while place.tb_next:
                place = place.tb_next
            fault = (f"{type(found).__name__} at {pathlib.Path(place.tb_frame.f_code.co_filename).name}:"
                     f"{place.tb_lineno}: {found}{bench.last_words()}")
        finally:
            bench.close()
        return fault, time.monotonic() - began


class Settings:
    """Of a run: the programs, and the seed."""

    def __init__(self, server, fixture, adapter, seed):
        self.server, self.fixture, self.adapter, self.seed = server, fixture, adapter, seed


class Bench:
    """The servers, proxies and clients of a case, in a folder of its own."""

    def __init__(self, settings, name):
        self.settings = settings
        self.random = random.Random(f"{settings.seed} {name}")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="conformance-"))
        self.parts, self.adapters, self.proxies = [], [], []

    def server(self, *options, journal="memory", fixture=False):
        program = self.settings.fixture if fixture else self.settings.server
        return self.keep(Server(program, self.folder, *options, journal=journal))

    def proxy(self, server):
        proxy = self.keep(Proxy(server.port))
        self.proxies.append(proxy)
        return proxy

    def adapter(self):
        """A client's program that has opened nothing yet."""
        log = self.folder / f"adapter-{len(self.adapters)}.log"
        adapter = self.keep(Adapter(self.settings.adapter, log))
        self.adapters.append(adapter)
        return adapter

    def client(self, proxy, outbox=None, **members):
        path = {"outbox": str(self.folder / outbox)} if outbox else {}
        return self.adapter().open(proxy.address, **path, **members)

    def setting(self, *options, journal="memory", outbox=None, fixture=False, **members):
        """A server, a proxy in front of it and a client behind that."""
        server = self.server(*options, journal=journal, fixture=fixture)
        proxy = self.proxy(server)
        return server, proxy, self.client(proxy, outbox, **members)

    def keep(self, part):
        self.parts.append(part)
        return part

    def check(self):
        for part in self.proxies + self.adapters:
            part.check()

    def last_words(self):
        return self.adapters[-1].last_words() if self.adapters else ""

    def close(self):
        for part in reversed(self.parts):
            part.close()
        shutil.rmtree(self.folder, ignore_errors=True)
