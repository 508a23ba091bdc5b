extension Conversation {
    /// The question, and the answer to continue.
    public struct Prompt: Sendable {
        /// The messages before the answer. The last is the question.
        public let messages: [Message]
        /// The text that the answer already has.
        public let text: String
        /// The number of tokens that the answer already has. The stream begins after them.
        public let tokens: Int
        /// The idempotency key for the call. Equal keys mean the same question and text so far.
        public let key: String

        init(_ state: State, key: String) {
            messages = Array(state.messages.dropLast())
            text = state.messages.last?.text ?? ""
            tokens = state.tokens
            self.key = key
        }
    }

    /// Anything that streams the tokens of an answer. An answer ends after 4096 tokens or 64 KiB.
    public struct Model: Sendable {
        let stream: @Sendable (Prompt, (String) async -> Bool) async throws -> Void

        /// Makes a model.
        ///
        /// - Parameter tokens: Begins the stream that continues an answer. If the stream throws,
        ///   another one is begun later, with the answer's text at that time.
        public init<Tokens: AsyncSequence & SendableMetatype>(
            _ tokens: @escaping @Sendable (Prompt) async throws -> Tokens
        ) where Tokens.Element == String, Tokens.AsyncIterator: SendableMetatype {
            stream = { prompt, send in
                var (count, bytes) = (prompt.tokens, prompt.text.utf8.count)
                for try await token in try await tokens(prompt) {
                    count += 1
                    bytes += token.utf8.count
                    // False after the answer was stopped.
                    guard count <= 4_096, bytes <= 65_536, await send(token) else { return }
                }
            }
        }

        /// A model without a network: its answer depends only on the question, and token `n` of it
        /// only on `n`, so that it continues exactly.
        public static func scripted(
            every pace: Duration = .milliseconds(50),
            clock: any Clock<Duration> = ContinuousClock()
        ) -> Model {
            Model { prompt in
                Script(words: words(of: prompt), next: prompt.tokens, pace: pace, clock: clock)
            }
        }

        private static func words(of prompt: Prompt) -> [String] {
            let question = prompt.messages.last?.text ?? ""
            let text = """
                You asked: “\(question)” \
                I am a script and know nothing about it, but I can show you how an answer travels. \
                Each word is a mutation. The server commits it to its journal, and only then sends \
                it to the readers, to all of them in the same order. Take one of them offline: it \
                gets the words that it has missed when it returns. Kill the server and start it \
                again: I continue with the word after the last one that was committed. So you read \
                every word once, on every screen. Press Stop, and I fall silent on all of them. \
                Press Retry, and I begin again from your question.
                """
            return text.split(separator: " ").enumerated()
                .map { $0.offset == 0 ? String($0.element) : " \($0.element)" }
        }
    }
}

/// The words of a scripted answer, at a steady pace.
private struct Script: AsyncSequence, AsyncIteratorProtocol {
    let words: [String]
    var next: Int
    let pace: Duration
    let clock: any Clock<Duration>

    func makeAsyncIterator() -> Script { self }

    mutating func next(isolation: isolated (any Actor)?) async throws -> String? {
        guard next < words.count else { return nil }
        try await clock.sleep(for: pace)
        defer { next += 1 }
        return words[next]
    }
}
