/// A client's request on its way to the node that may own the session.
///
/// The head is text, as the client's: the node that serves the request reads it with the parser
/// that reads clients, and needs no second way to build one.
package struct LinkRequest: Equatable, Sendable {
    /// The fields on which a response depends, and those that name the request in the log. Which
    /// client may do what, and from which page, is decided by the node that the client has reached.
    package static let fields: [KnownField] = [
        .contentType, .contentEncoding, .ifMatch, .idempotencyKey, .idempotencyKeyDone,
        .traceparent, .xRequestID, .prefer, .ifNoneMatch, .accept, .cacheControl,
    ]

    /// The rest of the time that the node that sent it waits for an answer.
    package var waitMilliseconds: UInt32
    /// The client; nil if the node that sent it has no authenticator.
    package var access: LinkAccess?
    package var head: [UInt8]
    package var body: [UInt8]

    package init(
        waitMilliseconds: UInt32, access: LinkAccess? = nil, head: [UInt8], body: [UInt8]
    ) {
        self.waitMilliseconds = waitMilliseconds
        self.access = access
        self.head = head
        self.body = body
    }

    /// Describes a request that was read.
    ///
    /// - Parameter traceparent: The trace of the node that sends the request, for a request without
    ///   a field of its own.
    package init(
        waitMilliseconds: UInt32, access: LinkAccess?, _ head: RequestHead, body: [UInt8],
        traceparent: String? = nil
    ) {
        self.init(waitMilliseconds: waitMilliseconds, access: access, head: [], body: body)
        let end = Array("\r\n".utf8)
        self.head += head.bytes[head.methodRange]
        self.head.append(0x20)
        self.head += head.bytes[head.path]
        if let query = head.query {
            self.head.append(0x3f)
            self.head += head.bytes[query]
        }
        self.head += " HTTP/1.1\r\nHost: link\r\n".utf8
        for field in Self.fields {
            // If-Match may have several lines, which are one list (RFC 9110 §5.3).
            for value in head.values(of: field) {
                self.head += field.name.utf8
                self.head += ": ".utf8
                self.head += head.bytes[value] + end
            }
        }
        if let traceparent, head.range(of: .traceparent) == nil {
            self.head += "traceparent: \(traceparent)\r\n".utf8
        }
        self.head += end
    }

    package init(_ frame: LinkFrame) throws(LinkFault) {
        var payload = try LinkPayload(frame, is: .request)
        waitMilliseconds = try payload.number()
        access = try payload.flag() ? try LinkAccess(&payload) : nil
        head = Array(try payload.sizedBytes())
        body = payload.rest()
    }

    package func append(stream: UInt32, to out: inout [UInt8]) {
        LinkFrame.append(.request, stream: stream, to: &out) { payload in
            payload.append(waitMilliseconds)
            payload.append(flag: access != nil)
            access?.write(to: &payload)
            payload.append(sized: head)
            payload.append(rest: body)
        }
    }

    /// Reads the head.
    ///
    /// - Throws: The refusal of a head that is none, or that does not end with the bytes.
    package func readHead(limits: RequestLimits) throws(RequestRefusal) -> RequestHead {
        var reader = RequestReader(limits: limits)
        var (result, none, offset) = (RequestHead(), [UInt8](), 0)
        let progress = try reader.next(head.span, at: &offset, head: &result, body: &none)
        guard progress == .complete, offset == head.count, result.body == .none else {
            throw .malformedRequestLine
        }
        return result
    }
}

/// The client of a request, as the node that it has reached has verified it.
package struct LinkAccess: Equatable, Sendable {
    package var subject: String
    /// Seconds since 1970.
    package var expiresAt: Int64
    /// A bit for each granted verb.
    package var verbs: UInt16
    /// Patterns of session ids, as in a token.
    package var sessions: [String]
    package var ownSessions: Bool
    /// Nil: all.
    package var reactors: [String]?
    /// Nil: all.
    package var pulses: [String]?
    /// Nil: all.
    package var actions: [String]?

    package init(
        subject: String, expiresAt: Int64, verbs: UInt16, sessions: [String], ownSessions: Bool,
        reactors: [String]?, pulses: [String]?, actions: [String]?
    ) {
        self.subject = subject
        self.expiresAt = expiresAt
        self.verbs = verbs
        self.sessions = sessions
        self.ownSessions = ownSessions
        self.reactors = reactors
        self.pulses = pulses
        self.actions = actions
    }

    init(_ payload: inout LinkPayload) throws(LinkFault) {
        subject = try payload.text()
        expiresAt = try payload.number()
        verbs = try payload.number()
        sessions = try payload.texts()
        ownSessions = try payload.flag()
        reactors = try payload.optionalTexts()
        pulses = try payload.optionalTexts()
        actions = try payload.optionalTexts()
    }

    func write(to payload: inout LinkPayloadWriter) {
        payload.append(subject)
        payload.append(expiresAt)
        payload.append(verbs)
        payload.append(sessions)
        payload.append(flag: ownSessions)
        payload.append(optional: reactors)
        payload.append(optional: pulses)
        payload.append(optional: actions)
    }
}
