import Foundation
import SampleReactors
import Synchronization

/// A model for measurements: the question `marks 500 20` has an answer of 500 tokens, one every 20
/// ms. Each token has the mark that `reactor-bench` recognises: the time at which it was due, and
/// its number. Any other question fails.
enum MarkedModel {
    static var model: Conversation.Model {
        let ticker = Ticker()
        return Conversation.Model { prompt -> AsyncThrowingStream<String, any Error> in
            let words = prompt.messages.last?.text.split(separator: " ") ?? []
            guard words.count == 3, words[0] == "marks", let count = Int(words[1]),
                let pace = Int(words[2]), (1...60_000).contains(pace),
                (0...100_000).contains(count)
            else { throw NotMarks() }
            return AsyncThrowingStream { stream in
                guard prompt.tokens < count else { return stream.finish() }
                ticker.add(stream, tokens: prompt.tokens..<count, every: pace)
            }
        }
    }

    private struct NotMarks: Error {}
}

/// Yields the tokens of all answers from one thread: a sleeping task for each token would cost more
/// than the measured work.
private final class Ticker: Sendable {
    private struct Answer {
        let stream: AsyncThrowingStream<String, any Error>.Continuation
        var tokens: Range<Int>
        let pace: Int
        /// In milliseconds of the clock.
        var due: Int
    }

    private let answers = Mutex<[Answer]>([])

    init() {
        Thread.detachNewThread { [weak self] in
            while let self {
                self.tick()
                usleep(500)
            }
        }
    }

    func add(
        _ stream: AsyncThrowingStream<String, any Error>.Continuation, tokens: Range<Int>,
        every pace: Int
    ) {
        let due = Self.microseconds() / 1_000 + pace
        answers.withLock {
            $0.append(Answer(stream: stream, tokens: tokens, pace: pace, due: due))
        }
    }

    /// A token is due at a fixed time, so that a late one counts as late.
    private func tick() {
        let now = Self.microseconds() / 1_000
        answers.withLock { answers in
            for index in answers.indices {
                while answers[index].due <= now, let number = answers[index].tokens.popFirst() {
                    answers[index].stream.yield(Self.mark(number, at: answers[index].due * 1_000))
                    answers[index].due += answers[index].pace
                }
                if answers[index].tokens.isEmpty { answers[index].stream.finish() }
            }
            answers.removeAll { $0.tokens.isEmpty }
        }
    }

    /// See `Mark` of `reactor-bench`.
    private static func mark(_ number: Int, at microseconds: Int) -> String {
        let time = String(UInt32(truncatingIfNeeded: microseconds), radix: 16)
        let sequence = String(UInt32(truncatingIfNeeded: number), radix: 16)
        return "#\(padded(time))0000\(padded(sequence))"
    }

    private static func padded(_ text: String) -> String {
        String(repeating: "0", count: 8 - text.count) + text
    }

    private static func microseconds() -> Int {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
    }
}
