/// One send: an action, or several that the program has sent together.
package struct OutboxEntry: Equatable, Sendable {
    package let ticket: Ticket
    package let session: SessionName
    /// The actions as JSON. Invariant: not empty.
    package let actions: [[UInt8]]
    package let options: SendOptions
    /// The reactor and the input with which the session is created if the server does not know it;
    /// nil if the program has joined a session, which must exist.
    package let makes: SessionMaking?

    package init(
        ticket: Ticket, session: SessionName, actions: [[UInt8]], options: SendOptions = .init(),
        makes: SessionMaking? = nil
    ) {
        self.ticket = ticket
        self.session = session
        self.actions = actions
        self.options = options
        self.makes = makes
    }

    package var byteCount: Int { actions.reduce(makes?.input?.count ?? 0) { $0 + $1.count } }

    /// The body of a request with these sends: one action by itself, several as an array.
    static func body(of entries: some Sequence<OutboxEntry>) -> [UInt8] {
        let actions = entries.flatMap(\.actions)
        if actions.count == 1 { return actions[0] }
        var body: [UInt8] = []
        body.reserveCapacity(actions.reduce(2) { $0 + $1.count + 1 })
        for action in actions {
            body.append(body.isEmpty ? UInt8(ascii: "[") : UInt8(ascii: ","))
            body += action
        }
        body.append(UInt8(ascii: "]"))
        return body
    }
}
