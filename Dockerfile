# Builds the server from this folder alone; the image holds one binary on a slim Debian.
#
#   docker build -t reactor-server .
#   docker run --rm -p 127.0.0.1:8080:8080 -v reactor:/data reactor-server --auth none --allow-public

FROM swift:6.3.1-bookworm AS build
WORKDIR /build

# SQLite goes into the binary as well: without the link to the shared library the linker takes the
# archive. (Swift's own tools keep theirs, which has a version in its name.)
RUN apt-get update && apt-get install -y --no-install-recommends libpq-dev libsqlite3-dev pkg-config \
    && rm -rf /var/lib/apt/lists/* && rm -f /usr/lib/*-linux-gnu/libsqlite3.so

# Dependencies change less often than sources: a layer of their own.
COPY Package.* ./
RUN swift package resolve

COPY . .
# The Swift runtime goes into the binary, so the image needs none. Symbols are left out: half of the
# size, none of the speed. (Sections that nothing refers to are left out anyway.)
RUN swift build -c release --product reactor-server --static-swift-stdlib -Xlinker -s -Xlinker -lm \
    && install -D "$(swift build -c release --show-bin-path)/reactor-server" /out/reactor-server

FROM debian:bookworm-slim
# For a journal in PostgreSQL.
RUN apt-get update && apt-get install -y --no-install-recommends libpq5 && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/reactor-server /usr/local/bin/reactor-server

# The journal's file. A volume outlives the container.
RUN install -d -o 10001 -g 10001 /data
ENV REACTOR_JOURNAL=file:/data/reactor.sqlite
# Commands on a journal make a copy of an export, also with a root that is read only.
ENV TMPDIR=/data
VOLUME /data

# A number, so that an orchestrator can check that it is not root; no such account is needed.
USER 10001:10001

# Inside a container nobody else can reach the loopback address. Without authentication, this one
# requires --allow-public.
ENV REACTOR_HOST=0.0.0.0
EXPOSE 8080

# SIGTERM drains: streams are told when to come back, requests end, exit status 0.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=4s --start-period=5s --retries=3 \
    CMD ["/usr/local/bin/reactor-server", "healthcheck"]

# Exec form: no shell, and the server itself is PID 1 and gets the signals.
ENTRYPOINT ["/usr/local/bin/reactor-server"]
