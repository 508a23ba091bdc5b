internal import ArgumentParser
internal import Feeds
internal import JSONCoding
internal import Wire

extension SessionCommand {
    struct Tail: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the events of a session as they come, until it ends.",
            discussion: """
                A line has the position, the name and the data of an event; with --json it is an \
                object of these. The first one is the present state. If the connection breaks, the \
                command connects again, and continues where it stopped.
                """)

        private static let eventLimitBytes = 67_108_864

        @OptionGroup var options: Options
        @Argument(help: "The session.") var id: SessionID
        @Option(name: .customLong("pulse"), help: "Only events of this pulse; may be repeated.")
        var pulses: [String] = []
        @Flag(help: "Also the state after each change.") var states = false
        @Option(help: "Continue after this position, which an earlier line has.")
        var after: String?

        /// Where the command has arrived.
        private struct Progress {
            var lastEventID: String
            /// Whether the server has sent a stream; before that, every failure ends the command.
            var hasBegun = false
            var retryMilliseconds = 2_000
            /// Attempts since the last event.
            var attempts = 0

            /// The server's time, doubled with each attempt; at least 100 ms, and at most 30 s.
            var pauseMilliseconds: Int {
                min(30_000, min(max(retryMilliseconds, 100), 30_000) << min(attempts, 5))
            }
        }

        func run() throws {
            try options.with { server in
                guard after.map(SessionServer.isVisible) != false else {
                    throw ValidationError("--after is no position")
                }
                var progress = Progress(lastEventID: after ?? "")
                while try !hasEnded(server, &progress) {
                    CommandOutput.sleep(milliseconds: progress.pauseMilliseconds)
                }
            }
        }

        /// Reads one connection to its end; returns whether the session has ended.
        private func hasEnded(_ server: SessionServer, _ progress: inout Progress) throws -> Bool {
            do {
                var exchange = try open(server, progress)
                let head = exchange.head
                if head.status == 204 {
                    CommandOutput.report("the session has ended")
                    return true
                }
                guard head.status == 200, head.mediaType == "text/event-stream" else {
                    throw ExchangeFailure(head, try exchange.body())
                }
                progress.hasBegun = true
                return try follow(&exchange, &progress)
            } catch let failure as ExchangeFailure {
                guard progress.hasBegun, !failure.endsStream else { throw failure }
                if progress.attempts == 0 { CommandOutput.report("\(failure); connecting again") }
                progress.attempts += 1
                return false
            }
        }

        private func open(
            _ server: SessionServer, _ progress: Progress
        ) throws(ExchangeFailure) -> HTTPExchange {
            var kinds = "pulses" + (pulses.isEmpty ? ",activities" : "")
            if states { kinds += ",states" }
            let query = SessionCommand.query([("only", kinds)] + pulses.map { ("pulse", $0) })
            var request = PlainRequest(SessionCommand.path(id) + "/events?" + query)
            request.fields = [("Accept", "text/event-stream")]
            if !progress.lastEventID.isEmpty {
                request.fields.append(("Last-Event-ID", progress.lastEventID))
            }
            return try server.open(request)
        }

        private func follow(
            _ exchange: inout HTTPExchange, _ progress: inout Progress
        ) throws -> Bool {
            var decoder = EventStreamDecoder(
                lastEventID: progress.lastEventID, eventLimitBytes: Self.eventLimitBytes)
            while let bytes = try exchange.next() {
                var events: [ServerSentEvent] = []
                do {
                    try decoder.receive(bytes.span) { events.append($0) }
                } catch {
                    throw ExchangeFailure.unusable(
                        "an event has more than \(Self.eventLimitBytes) bytes")
                }
                for event in events {
                    try print(event)
                    if !event.lastEventID.isEmpty { progress.lastEventID = event.lastEventID }
                    if event.name == "end" { return true }
                    progress.attempts = 0
                }
                progress.lastEventID = decoder.lastEventID
                progress.retryMilliseconds = decoder.retryMilliseconds ?? progress.retryMilliseconds
                // Heartbeats come even if no event does.
                guard !Standard.hasLostReader else { throw ExitCode(0) }
            }
            return false
        }

        private func print(_ event: ServerSentEvent) throws {
            if event.name == "problem", let problem = ProblemReading(Array(event.data.utf8)) {
                throw ExchangeFailure.refused(problem, retryAfter: nil)
            }
            guard options.json else {
                let position = event.lastEventID.isEmpty ? "-" : event.lastEventID
                return try CommandOutput.line("\(position)  \(event.name)  \(event.data)")
            }
            // Why the data is not decoded: a state may nest as deep as the coder permits.
            let head = JSON.line(["position": event.lastEventID, "name": event.name]).dropLast(2)
            try CommandOutput.line(head + Array(",\"data\":\(event.data)}".utf8))
        }
    }
}
