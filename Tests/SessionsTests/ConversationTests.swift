import ReactorTesting
import Reactors
import Synchronization
import Testing

@testable import SampleReactors

@Suite("Samples — a conversation with a model", .timeLimit(.minutes(60)))
struct ConversationTests {
    private struct Outage: Error {}

    /// A model that streams the letters of a word, and records its calls.
    private final class Speller: Sendable {
        private let prompts = Mutex<[Conversation.Prompt]>([])
        let letters: [String]
        /// The tokens after which a call fails, in the order of the calls.
        let failures: [Int]

        init(_ word: String, failingAt failures: [Int] = []) {
            letters = word.map { String($0) }
            self.failures = failures
        }

        var asked: [Conversation.Prompt] { prompts.withLock { $0 } }

        var model: Conversation.Model {
            Conversation.Model { prompt in
                let call = self.prompts.withLock { prompts in
                    prompts.append(prompt)
                    return prompts.count - 1
                }
                let end = call < self.failures.count ? self.failures[call] : self.letters.count
                return AsyncThrowingStream<String, any Error> { stream in
                    for letter in self.letters[prompt.tokens..<end] { stream.yield(letter) }
                    stream.finish(throwing: end < self.letters.count ? Outage() : nil)
                }
            }
        }
    }

    private func driver(
        of model: Conversation.Model, clock: ManualClock = ManualClock()
    ) -> TestDriver<Conversation> {
        TestDriver(Conversation(model: model), clock: clock) { Issue.record("\($0)") }
    }

    private func ask(_ driver: TestDriver<Conversation>, _ text: String) async {
        await driver.send(.ask(text: text)) { state in
            let count = state.count
            state.messages.append(.init(number: count + 1, role: "user", text: text))
            state.messages.append(.init(number: count + 2, role: "assistant"))
            (state.count, state.tokens, state.phase) = (count + 2, 0, .answering)
        }
        await driver.receive(timer: "answer")
    }

    private func receive(_ driver: TestDriver<Conversation>, _ word: String) async {
        for letter in word.map({ String($0) }) {
            await driver.receive(.append(token: letter)) { state in
                let last = state.messages.count - 1
                state.messages[last].text += letter
                let number = state.messages[last].number
                state.token = .init(message: number, index: state.tokens, text: letter)
                state.tokens += 1
                if state.phase == .failed { (state.phase, state.problem) = (.answering, nil) }
            }
        }
    }

    @Test func `an answer arrives token by token, and the next one starts empty`() async {
        let speller = Speller("yes")
        let driver = driver(of: speller.model)
        await ask(driver, "Well?")
        await receive(driver, "yes")
        await driver.receive(.end(phase: .complete)) { $0.phase = .complete }
        await ask(driver, "Sure?")
        await receive(driver, "yes")
        await driver.receive(.end(phase: .complete)) { $0.phase = .complete }
        await driver.finish()
        #expect(
            speller.asked.map { $0.messages.map(\.text) } == [
                ["Well?"], ["Well?", "yes", "Sure?"],
            ])
        #expect(Set(speller.asked.map(\.key)).count == 2)
    }

    @Test func `a model that fails is asked to continue, and no token is lost or repeated`() async {
        let (speller, clock) = (Speller("abcdef", failingAt: [2, 2, 5]), ManualClock())
        let driver = driver(of: speller.model, clock: clock)
        await ask(driver, "Well?")
        for (tokens, pause) in [("ab", 2), ("", 4), ("cde", 8)] {
            await receive(driver, tokens)
            await driver.receive(.fail(problem: "Outage()")) {
                ($0.phase, $0.problem) = (.failed, "Outage()")
            }
            await driver.receive(failureOf: .effect)
            await clock.waitForSleepers(1)
            await driver.advance(by: .seconds(pause))
        }
        await receive(driver, "f")
        await driver.receive(.end(phase: .complete)) { $0.phase = .complete }
        await driver.finish()
        #expect(speller.asked.map(\.tokens) == [0, 2, 2, 5])
        #expect(speller.asked.map(\.text) == ["", "ab", "ab", "abcde"])
        // The service recognises only the repeated call by its key.
        let keys = speller.asked.map(\.key)
        #expect(keys[1] == keys[2])
        #expect(Set(keys).count == 3)
    }

    @Test func `an answer that was stopped stays stopped`() async {
        let (stream, tokens) = AsyncStream<String>.makeStream()
        let driver = driver(of: Conversation.Model { _ in stream })
        await ask(driver, "Well?")
        tokens.yield("a")
        await receive(driver, "a")
        await driver.sendRefused(.ask(text: "Again?"), "answering")
        // The answer is already running.
        await driver.send(.answer)
        await driver.send(.stop) { $0.phase = .stopped }
        tokens.yield("b")
        tokens.finish()
        await driver.send(.answer)
        await driver.send(.stop)
        await driver.finish()
        #expect(driver.state.messages.last?.text == "a")
    }

    @Test func `retry removes the messages after a question, and begins a new answer`() async {
        let speller = Speller("ok")
        let driver = driver(of: speller.model)
        for question in ["One?", "Two?"] {
            await ask(driver, question)
            await receive(driver, "ok")
            await driver.receive(.end(phase: .complete)) { $0.phase = .complete }
        }
        await driver.sendRefused(.retry(question: 2), "unknown_question")
        await driver.send(.retry(question: 1)) { state in
            state.messages = [
                .init(number: 1, role: "user", text: "One?"), .init(number: 5, role: "assistant"),
            ]
            (state.count, state.tokens, state.phase) = (5, 0, .answering)
        }
        await driver.receive(timer: "answer")
        await receive(driver, "ok")
        await driver.receive(.end(phase: .complete)) { $0.phase = .complete }
        await driver.finish()
        #expect(speller.asked.last?.messages.map(\.text) == ["One?"])
    }

    @Test func `a retry replaces the unfinished answer`() async {
        let (first, tokens) = AsyncStream<String>.makeStream()
        let calls = Mutex(0)
        let speller = Speller("new")
        let model = Conversation.Model { prompt -> AsyncStream<String> in
            let call = calls.withLock { calls in
                calls += 1
                return calls
            }
            if call == 1 { return first }
            return AsyncStream { stream in
                for letter in speller.letters { stream.yield(letter) }
                stream.finish()
            }
        }
        let driver = driver(of: model)
        await ask(driver, "Well?")
        tokens.yield("o")
        await receive(driver, "o")
        await driver.send(.retry(question: 1)) { state in
            state.messages[1] = .init(number: 3, role: "assistant")
            (state.count, state.tokens, state.phase) = (3, 0, .answering)
        }
        tokens.yield("ld")
        await driver.receive(timer: "answer")
        await receive(driver, "new")
        await driver.receive(.end(phase: .complete)) { $0.phase = .complete }
        await driver.finish()
    }

    // MARK: Bounds

    private struct Endless: AsyncSequence, AsyncIteratorProtocol {
        func makeAsyncIterator() -> Endless { self }
        func next(isolation: isolated (any Actor)?) async -> String? {
            String(repeating: "x", count: 1_000)
        }
    }

    @Test func `a question that is empty or too long is refused`() async {
        let driver = driver(of: Speller("a").model)
        await driver.sendRefused(.ask(text: ""), "bad_length")
        await driver.sendRefused(.ask(text: String(repeating: "é", count: 2_001)), "bad_length")
        await driver.finish()
    }

    @Test func `an answer ends at 64 KiB, and the oldest messages are removed`() async throws {
        let host = ReactorHost(Conversation(model: .init { _ in Endless() }))
        for _ in 0..<51 {
            await host.send(.ask(text: "Well?"))
            for try await phase in await host.pulse(\.$phase) where phase == .complete { break }
        }
        let messages = await host.currentState.messages
        #expect(messages.map(\.number) == Array(3...102))
        #expect(messages.last?.text.utf8.count == 65_000)
        #expect(await host.currentState.tokens == 65)
    }
}
