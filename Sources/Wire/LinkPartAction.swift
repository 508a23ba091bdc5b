/// An action of a part of a Cycler, for the session that the part belongs to.
///
/// It is answered as a request is. ``LinkAnswer/status`` 200: the parent has committed the action's first part.
package struct LinkPartAction: Equatable, Sendable {
    /// A larger body is refused: a fault of the other node.
    package static let bodyLimitBytes = 8 << 20

    /// The parent's session id.
    package var parent: String
    /// The names of the reactors that the parent may have; empty: the sender hosts none of them, and any is
    /// accepted that reads the action.
    package var reactors: [String]
    /// The client for which the part acts; nil: none.
    package var subject: String?
    /// The action, as the sender's program encodes it: JSON, which nobody has checked.
    package var body: [UInt8]

    package init(parent: String, reactors: [String], subject: String?, body: [UInt8]) {
        self.parent = parent
        self.reactors = reactors
        self.subject = subject
        self.body = body
    }

    /// - Throws: ``LinkFault``: the payload is malformed.
    package init(_ frame: LinkFrame) throws(LinkFault) {
        var payload = try LinkPayload(frame, is: .partAction)
        parent = try payload.text()
        reactors = try payload.texts()
        subject = try payload.flag() ? try payload.text() : nil
        body = payload.rest()
        guard body.count <= Self.bodyLimitBytes else { throw .malformed(.partAction) }
    }

    package func append(stream: UInt32, to out: inout [UInt8]) {
        LinkFrame.append(.partAction, stream: stream, to: &out) { payload in
            payload.append(parent)
            payload.append(reactors)
            payload.append(flag: subject != nil)
            if let subject { payload.append(subject) }
            payload.append(rest: body)
        }
    }
}
