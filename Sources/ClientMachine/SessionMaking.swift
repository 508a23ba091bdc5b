/// The content of the request that creates a session.
package struct SessionMaking: Hashable, Sendable, ExpressibleByStringLiteral {
    /// Any text: the server refuses a name that it does not know.
    package let reactor: String
    /// The input as one line of JSON; nil if the reactor takes none.
    package let input: [UInt8]?

    package init(_ reactor: String, input: [UInt8]? = nil) {
        self.reactor = reactor
        self.input = input
    }

    package init(stringLiteral reactor: String) { self.init(reactor) }
}
