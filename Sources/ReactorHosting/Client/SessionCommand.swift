internal import ArgumentParser
internal import Feeds
internal import JSONCoding
internal import Wire

/// `reactor-server session …`: a client of any server (ADR-0091).
struct SessionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "Reads and changes the sessions of a server.",
        discussion: """
            The commands make the requests of the HTTP API. Exit status: 0 if all is well, 1 if the \
            server refuses the request, 64 for bad arguments, 69 if the server does not respond.
            """,
        subcommands: [
            List.self, State.self, Post.self, Tail.self, Log.self, Fork.self, Delete.self,
        ])

    /// They are no settings of a server.
    static let variables = ["REACTOR_SERVER", "REACTOR_TOKEN"]

    struct Options: ParsableArguments {
        @Option(
            help: """
                http://host:port or unix:PATH. There is no TLS. (REACTOR_SERVER; default: \
                http://127.0.0.1:8080)
                """)
        var server: String?
        @Option(
            help: """
                A file with a bearer token. The variable REACTOR_TOKEN may have the token itself; an \
                option would show it to other users of this machine.
                """)
        var tokenFile: String?
        @Flag(help: "Print the responses as the server sends them, for programs.") var json = false

        /// Acts with the server; prints why that fails.
        func with(_ act: (SessionServer) throws -> Void) throws {
            // As for settings, an empty variable is none.
            let variables = ProcessEnvironment.variables.filter { !$0.value.isEmpty }
            do {
                let server = server ?? variables["REACTOR_SERVER"] ?? "http://127.0.0.1:8080"
                try act(try SessionServer(server, token: try token ?? variables["REACTOR_TOKEN"]))
            } catch let failure as ExchangeFailure {
                CommandOutput.report("\(failure)")
                throw ExitCode(failure.exitStatus)
            } catch let failure as ConfigurationFailure {
                CommandOutput.report(failure.sentences.joined(separator: "; "))
                throw ExitCode(64)
            } catch let error as ValidationError {
                CommandOutput.report(error.message)
                throw ExitCode(64)
            }
        }

        private var token: String? {
            get throws {
                guard let tokenFile else { return nil }
                let bytes = try RegularFile.contents(of: tokenFile, limitBytes: 16_384)
                return String(String(decoding: bytes, as: UTF8.self).trimmed(while: \.isWhitespace))
            }
        }
    }

    /// The path of a session.
    static func path(_ id: SessionID) -> String { "/v1/sessions/\(id.text)" }

    /// Items of a query, each with `&` after it.
    static func query(_ items: [(name: String, value: String)]) -> String {
        items.map { "\($0.name)=\(PercentEncoding.encoded($0.value))&" }.joined()
    }
}

extension SessionCommand {
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists sessions: by id, or with --tag the newest change of tags first.")

        @OptionGroup var options: Options
        @Option(help: "Only sessions of this reactor.") var reactor: String?
        @Option(name: .customLong("tag"), help: "Only sessions with this tag: name:value.")
        var tags: [String] = []
        @Option(help: "The number of sessions.") var limit = 100

        func run() throws {
            let query = (reactor.map { [("reactor", $0)] } ?? []) + tags.map { ("tag", $0) }
            try options.with { server in
                var rows = [["session", "reactor", "version", "changed"]]
                let hasMore = try server.eachPage(
                    "/v1/sessions?" + SessionCommand.query(query), of: "sessions", limit: limit
                ) { page, sessions in
                    if options.json { return try CommandOutput.line(page) }
                    rows += sessions.map { session in
                        let state = session.member("status") == nil ? "changed" : "status"
                        return ["id", "reactor", "version", state].map(session.text)
                    }
                }
                if options.json { return }
                for line in TextTable.lines(rows).split(separator: "\n") {
                    try CommandOutput.line(String(line))
                }
                if hasMore { CommandOutput.report("there are more sessions: see --limit") }
            }
        }
    }

    struct State: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Prints a session's state.")

        @OptionGroup var options: Options
        @Argument(help: "The session.") var id: SessionID
        @Option(help: "Print only this part of the state: a JSON pointer such as /items/0.")
        var part: JSONPointer?

        func run() throws {
            try options.with { server in
                let body = try server.json(PlainRequest(SessionCommand.path(id)))
                if options.json { return try CommandOutput.line(body) }
                let pointer = JSONPointer(tokens: ["state"] + (part?.tokens ?? []))
                guard let range = JSON.slice(pointer, of: body) else {
                    throw ExchangeFailure.unusable(
                        "the state has no part \(part?.description ?? "")")
                }
                try CommandOutput.line(Array(body[range]))
            }
        }
    }

    struct Post: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Posts an action, or an array of them, and prints the response.",
            discussion: """
                If the response is lost, or the server asks for a later attempt, the request is sent \
                again with the same key, up to five times. It is carried out once.
                """)

        @OptionGroup var options: Options
        @Argument(help: "The session.") var id: SessionID
        @Argument(help: "JSON; - reads it from standard input.") var action: String
        @Option(help: "If the session does not exist, create it with this reactor.")
        var reactor: String?
        @Option(help: "The Idempotency-Key. Default: a random one.") var key: String?

        func run() throws {
            var body = Array(action.utf8)
            if action == "-" {
                body = []
                try Standard.eachLine { body += $0 + [0x0a] }
            }
            let key = key ?? "cli-" + String(UInt128.random(in: 0 ... .max), radix: 36)
            var request = PlainRequest(
                SessionCommand.path(id) + "/actions", method: "POST", body: body)
            request.fields = [("Idempotency-Key", key)]
            try options.with { server in
                let response: [UInt8]
                do throws(ExchangeFailure) {
                    response = try post(request, to: server)
                } catch {
                    // Otherwise it may have been carried out.
                    if case .refused(let problem, _) = error, problem.status < 500 { throw error }
                    CommandOutput.report("to send it again, use --key \(key)")
                    throw error
                }
                try CommandOutput.line(response)
            }
        }

        private func post(
            _ request: PlainRequest, to server: SessionServer
        ) throws(ExchangeFailure) -> [UInt8] {
            do throws(ExchangeFailure) {
                return try server.repeated(request)
            } catch {
                guard reactor != nil, case .refused(let problem, _) = error,
                    problem.code == "unknown_session"
                else { throw error }
            }
            let creation = JSON.line(["reactor": reactor])
            _ = try server.repeated(
                PlainRequest(SessionCommand.path(id), method: "PUT", body: creation))
            return try server.repeated(request)
        }
    }

    struct Log: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the action log: position, time, kind and content of each entry.")

        @OptionGroup var options: Options
        @Argument(help: "The session.") var id: SessionID
        @Option(help: "Only the entries after this position.") var after: String?
        @Option(help: "The most entries that are printed. Default: all that are kept.")
        var limit = Int.max

        func run() throws {
            try options.with { server in
                _ = try server.eachPage(
                    SessionCommand.path(id) + "/log?", of: "entries", after: after, limit: limit
                ) { page, entries in
                    if options.json { return try CommandOutput.line(page) }
                    if page.member("reset") != nil {
                        try CommandOutput.line("-  reset  " + page.text("reset"))
                    }
                    for entry in entries {
                        // A content that is a text stays JSON.
                        let content = entry.member("content") ?? []
                        try CommandOutput.line(
                            ["position", "time", "kind"].map { entry.text($0) + "  " }.joined()
                                + String(decoding: content, as: UTF8.self))
                    }
                }
            }
        }
    }

    struct Fork: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Makes a session from a version of another one; prints its id, a random one.")

        private struct Creation: Encodable {
            let reactor: String
            let from: Origin

            struct Origin: Encodable {
                let session: String
                let version: UInt64?
            }
        }

        @OptionGroup var options: Options
        @Argument(help: "The session.") var id: SessionID
        @Option(help: "A version whose state is kept. Default: the present one.") var at: UInt64?

        func run() throws {
            try options.with { server in
                let reactor = try server.json(PlainRequest(SessionCommand.path(id))).text("reactor")
                let creation = JSON.line(
                    Creation(reactor: reactor, from: .init(session: id.text, version: at)))
                let fork = try server.json(
                    PlainRequest("/v1/sessions", method: "POST", body: creation))
                try CommandOutput.line(options.json ? fork : Array(fork.text("id").utf8))
            }
        }
    }

    struct Delete: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Deletes a session; its history and its state are gone.")

        @OptionGroup var options: Options
        @Argument(help: "The session.") var id: SessionID

        func run() throws {
            try options.with {
                _ = try $0.json(PlainRequest(SessionCommand.path(id), method: "DELETE"))
            }
        }
    }
}

extension SessionID: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}

extension JSONPointer: ExpressibleByArgument {
    package init?(argument: String) {
        do { try self.init(argument) } catch { return nil }
    }
}
