import Testing

@Suite("A conversation outlives the process that began its answer", .timeLimit(.minutes(60)))
struct ConversationProcessTests {
    private struct Tokens {
        var message = 0
        var texts: [String] = []

        /// Adds the tokens of one answer up to this one, and reports repeated and missing tokens.
        mutating func add(_ event: Event) throws {
            let token = try JSONValue(text: event.data)
            message = token["message"]?.integer ?? 0
            #expect(token["index"]?.integer == texts.count)
            texts.append(try #require(token["text"]?.string))
        }
    }

    /// Reads until the answer has `count` tokens.
    private func read(
        _ session: SessionHandle, after position: String, _ tokens: inout Tokens, count: Int
    ) async throws -> String {
        let stream = try await session.open("pulses?pulse=token", [("Last-Event-ID", position)])
        var last = position
        while tokens.texts.count < count {
            let event = try await stream.next()
            try tokens.add(event)
            last = event.id
        }
        await stream.close()
        return last
    }

    @Test func `two kills in one answer: a reader gets each token once`() async throws {
        try await withJournal { journal in
            var server = try await journal.start()
            let session = try await server.client().session("conversation")
            try await session.post(#"{"type":"ask","text":"Why?"}"#)
            var (tokens, position) = (Tokens(), session.created)
            for count in [5, 12] {
                position = try await read(
                    session.on(server), after: position, &tokens, count: count)
                try await server.murder()
                server = try await journal.start()
            }
            let last = session.on(server)
            let phases = try await last.open(
                "pulses?pulse=phase", [("Last-Event-ID", session.created)])
            while try await phases.next().data != #""complete""# {}
            let state = try await last.state()
            let count = try #require(state["tokens"]?.integer)
            _ = try await read(last, after: position, &tokens, count: count)
            let answer = try #require(state["messages"]?.array?.last)
            #expect(answer["text"]?.string == tokens.texts.joined())
            #expect(answer["number"]?.integer == tokens.message)
            // One question, and not one for each attempt.
            #expect(state["count"] == 2)
            // The script has one answer to it.
            try await last.post(#"{"type":"retry","question":1}"#)
            while try await phases.next().data != #""complete""# {}
            let uncut = try #require(try await last.state()["messages"]?.array?.last)
            #expect(uncut["text"]?.string == tokens.texts.joined())
        }
    }

    @Test func `an answer that was stopped does not continue after a kill`() async throws {
        try await withJournal { journal in
            let first = try await journal.start()
            let session = try await first.client().session("conversation")
            try await session.post(#"{"type":"ask","text":"Why?"}"#)
            var tokens = Tokens()
            _ = try await read(session, after: session.created, &tokens, count: 3)
            try await session.post(#"{"type":"stop"}"#)
            let stopped = try #require(try await session.state()["messages"]?.array)
            try await first.murder()
            let second = session.on(try await journal.start())
            try await second.post(#"{"type":"answer"}"#)
            // This would be refused during an answer.
            let asked = try await second.post(#"{"type":"ask","text":"Really?"}"#)
            tokens = Tokens()
            _ = try await read(second, after: asked.position, &tokens, count: 3)
            #expect(tokens.message == 4)
            let messages = try #require(try await second.state()["messages"]?.array)
            #expect(Array(messages.prefix(2)) == stopped)
        }
    }

    @Test func `a fork has an answer of its own, and its origin continues`() async throws {
        try await withServer { server in
            let session = try await server.client().session("conversation")
            try await session.post(#"{"type":"ask","text":"Why?"}"#)
            var tokens = Tokens()
            let position = try await read(session, after: session.created, &tokens, count: 2)
            let made = try await server.client().post(
                "/v1/sessions",
                #"{"reactor":"conversation","from":{"session":"\#(session.id)","version":1}}"#)
            let fork = SessionHandle(
                client: server.client(), id: try #require(made.json["id"]?.string),
                created: try #require(made.json["position"]?.string))
            #expect(try await fork.state()["phase"] == "answering")
            // A fork has no timer. Its answer continues after this action.
            try await fork.post(#"{"type":"answer"}"#)
            var own = Tokens()
            _ = try await read(fork, after: fork.created, &own, count: 10)
            try await fork.post(#"{"type":"stop"}"#)
            _ = try await read(session, after: position, &tokens, count: 20)
            #expect(tokens.texts.starts(with: own.texts))
            let answer = try await session.state()["messages"]?.array?.last?["text"]?.string
            #expect(try #require(answer).hasPrefix(tokens.texts.joined()))
        }
    }
}
