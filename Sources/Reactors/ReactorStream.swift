/// A reader was too slow: more elements arrived than its buffer holds.
///
/// The buffer was delivered, in order and without a gap; then the stream ends with this error.
public struct ReaderTooSlow: Error, Hashable, Sendable {}

/// A host's stream for one reader: states, values of a pulse, activities, failures.
///
/// For one reader: iterate it once. It starts when the call that made it returns, so it misses no
/// later element, and ends with the host. Abandoning the iteration, or cancelling its task, ends
/// the subscription.
///
/// The buffer is bounded. A reader that is further behind gets ``ReaderTooSlow`` after the buffered
/// elements; no element is left out before that.
public struct ReactorStream<Element: Sendable>: AsyncSequence, Sendable {
    /// The only error: this reader is too slow.
    public typealias Failure = ReaderTooSlow

    fileprivate typealias Base = AsyncThrowingStream<Element, any Error>

    private let base: Base
    private let whenRead: (@Sendable (Element) -> Void)?

    /// Iterates over the host's stream.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: base.makeAsyncIterator(), whenRead: whenRead)
    }

    /// Iterates over the host's stream.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: Base.Iterator
        fileprivate let whenRead: (@Sendable (Element) -> Void)?

        /// The next element, `nil` at the end of the host or of this task.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(ReaderTooSlow) -> Element? {
            do {
                let element = try await base.next(isolation: actor)
                if let whenRead, let element { whenRead(element) }
                return element
            } catch {
                // Invariant: the feed ends a stream with this error or with none.
                throw ReaderTooSlow()
            }
        }
    }

    /// - Parameter whenRead: called with each element that the reader gets, in the reader's task.
    package static func make(
        buffer limit: Int, whenRead: (@Sendable (Element) -> Void)? = nil
    ) -> (stream: ReactorStream, feed: Feed) {
        precondition(limit > 0, "a stream needs room for one element")
        let (base, continuation) = Base.makeStream(bufferingPolicy: .bufferingOldest(limit))
        return (
            ReactorStream(base: base, whenRead: whenRead), Feed(continuation: continuation)
        )
    }

    /// The host's end of a stream.
    package struct Feed: Sendable {
        fileprivate let continuation: Base.Continuation

        /// Returns whether the reader still reads and is not behind. If not, the stream has ended.
        package func push(_ element: Element) -> Bool {
            switch continuation.yield(element) {
            case .enqueued: return true
            case .dropped:
                fail()
                return false
            case .terminated: return false
            @unknown default: return false
            }
        }

        package func finish() { continuation.finish() }

        /// Ends the stream after the buffered elements, because later ones are lost.
        package func fail() { continuation.finish(throwing: ReaderTooSlow()) }

        package func whenAbandoned(_ act: @escaping @Sendable () -> Void) {
            continuation.onTermination = { _ in act() }
        }
    }
}
