/// The response to a request that came over a link. The node that the client has reached adds the
/// fields that are its own, such as `Date`, and those for the client's page.
package struct LinkAnswer: Equatable, Sendable {
    package struct Field: Equatable, Sendable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package var status: UInt16
    /// The code of a problem, for the log and the counters; empty for any other response.
    package var code: String
    package var fields: [Field]
    package var body: [UInt8]

    package init(status: UInt16, code: String = "", fields: [Field] = [], body: [UInt8] = []) {
        self.status = status
        self.code = code
        self.fields = fields
        self.body = body
    }

    /// - Throws: ``LinkFault``: the payload is malformed, or could not be a response: a status that
    ///   is none, or bytes in a field that would end its line.
    package init(_ frame: LinkFrame) throws(LinkFault) {
        var payload = try LinkPayload(frame, is: .answer)
        status = try payload.number()
        code = try payload.text()
        fields = []
        for _ in 0..<(try payload.number(UInt32.self)) {
            fields.append(Field(try payload.text(), try payload.text()))
        }
        body = payload.rest()
        guard (200...599).contains(status), fields.allSatisfy(Self.isWellFormed) else {
            throw .malformed(.answer)
        }
    }

    package func append(stream: UInt32, to out: inout [UInt8]) {
        LinkFrame.append(.answer, stream: stream, to: &out) { payload in
            payload.append(status)
            payload.append(code)
            payload.append(UInt32(fields.count))
            for field in fields {
                payload.append(field.name)
                payload.append(field.value)
            }
            payload.append(rest: body)
        }
    }

    private static func isWellFormed(_ field: Field) -> Bool {
        !field.name.isEmpty && field.name.utf8.allSatisfy(ByteClass.token.contains)
            && field.value.utf8.allSatisfy(ByteClass.isFieldValue)
    }
}

/// The answer to a request that was not served: the session is owned by another node.
package struct LinkMoved: Equatable, Sendable {
    /// The owner; 0 if the node that was asked does not know it.
    package var node: Int64

    package init(node: Int64) { self.node = node }

    package init(_ frame: LinkFrame) throws(LinkFault) {
        var payload = try LinkPayload(frame, is: .moved)
        node = try payload.number()
        try payload.finish()
    }

    package func append(stream: UInt32, to out: inout [UInt8]) {
        LinkFrame.append(.moved, stream: stream, to: &out) { $0.append(node) }
    }
}

/// A sign of life.
package struct LinkPing: Equatable, Sendable {
    /// The database that the node believes: its journal, era, timeline and branch. A node that
    /// hears of a newer one believes nothing until it has found that one.
    package var journal: Int64
    package var era: Int64
    package var timeline: Int64
    package var branch: Int64
    /// A position in the log of that database which is acknowledged there; 0: none is known.
    package var committed: Int64
    package var features: LinkFeatures

    package init(
        journal: Int64 = 0, era: Int64, timeline: Int64 = 0, branch: Int64 = 0,
        committed: Int64 = 0, features: LinkFeatures
    ) {
        self.journal = journal
        self.era = era
        self.timeline = timeline
        self.branch = branch
        self.committed = committed
        self.features = features
    }

    package init(_ frame: LinkFrame) throws(LinkFault) {
        var payload = try LinkPayload(frame, is: .ping)
        era = try payload.number()
        features = LinkFeatures(rawValue: try payload.number())
        journal = try payload.number()
        timeline = try payload.number()
        branch = try payload.number()
        committed = try payload.number()
        try payload.finish()
    }

    package func append(to out: inout [UInt8]) {
        LinkFrame.append(.ping, stream: 0, to: &out) { payload in
            payload.append(era)
            payload.append(features.rawValue)
            payload.append(journal)
            payload.append(timeline)
            payload.append(branch)
            payload.append(committed)
        }
    }
}
