internal import ClientMachine
internal import Wire

/// Pages of a server's sessions, in the order of their ids, each read when it is asked for.
public struct SessionPages: AsyncSequence, Sendable {
    /// Why a page could not be read.
    public typealias Failure = ClientFailure

    let driver: ClientDriver
    let prefix: String
    let reactor: String?

    /// Begins with the first page.
    public func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

    /// Reads the pages one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let pages: SessionPages
        private var after: String?
        private var isOver = false

        fileprivate init(pages: SessionPages) { self.pages = pages }

        /// The next page; nil after the last one.
        ///
        /// - Throws: as a request does; the next call reads the same page again.
        public mutating func next() async throws(ClientFailure) -> [SessionSummary]? {
            guard !isOver else { return nil }
            let page = try await pages.driver.get(pages.target(after: after), as: Page.self)
            after = page.next
            isOver = page.next == nil
            return page.sessions
        }
    }

    private struct Page: Decodable {
        let sessions: [SessionSummary]
        let next: String?
    }

    fileprivate func target(after: String?) -> String {
        var items: [String] = []
        if !prefix.isEmpty { items.append("prefix=" + PercentEncoding.encoded(prefix)) }
        if let reactor { items.append("reactor=" + PercentEncoding.encoded(reactor)) }
        if let after { items.append("after=" + PercentEncoding.encoded(after)) }
        return "/v1/sessions" + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
    }
}
