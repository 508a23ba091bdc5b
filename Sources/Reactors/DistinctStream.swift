/// A stream without the elements whose key equals that of the previous element.
///
/// Made by ``ReactorStream/distinct(by:)``. For one reader, like the stream from which it is made.
public struct DistinctStream<Element: Sendable, Key: Equatable>: AsyncSequence {
    /// The only error: this reader is too slow.
    public typealias Failure = ReaderTooSlow

    fileprivate let base: ReactorStream<Element>
    fileprivate let key: (Element) -> Key

    /// Iterates over the stream.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: base.makeAsyncIterator(), key: key)
    }

    /// Iterates over the stream.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: ReactorStream<Element>.Iterator
        fileprivate let key: (Element) -> Key
        private var last: Key?

        fileprivate init(
            base: ReactorStream<Element>.Iterator, key: @escaping (Element) -> Key
        ) {
            self.base = base
            self.key = key
        }

        /// The next element whose key differs; nil at the end of the stream or of this task.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(ReaderTooSlow) -> Element? {
            while let element = try await base.next(isolation: actor) {
                let present = key(element)
                guard present != last else { continue }
                last = present
                return element
            }
            return nil
        }
    }
}

extension ReactorStream {
    /// Leaves out elements whose key equals that of the previous element: RxSwift's
    /// `distinctUntilChanged(\.name)`.
    ///
    /// ```swift
    /// for try await state in await host.state().distinct(by: \.name) { show(state) }
    /// ```
    ///
    /// Elements are left out when they are read, so they count in the stream's buffer. To read the
    /// part alone, use `state(\.name)`.
    ///
    /// - Parameter key: Reads the part that is compared.
    public func distinct<Key: Equatable>(
        by key: @escaping (Element) -> Key
    ) -> DistinctStream<Element, Key> {
        DistinctStream(base: self, key: key)
    }
}
