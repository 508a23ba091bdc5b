package import Reactors

/// Reads a stream step by step.
package struct Reading<Element: Sendable> {
    private var iterator: ReactorStream<Element>.Iterator

    package init(_ stream: ReactorStream<Element>) { iterator = stream.makeAsyncIterator() }

    /// The next `count` elements; fewer when the stream ends.
    package mutating func next(_ count: Int) async throws(ReaderTooSlow) -> [Element] {
        var elements: [Element] = []
        while elements.count < count, let element = try await iterator.next() {
            elements.append(element)
        }
        return elements
    }
}
