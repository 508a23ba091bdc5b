internal import Wire

// The form of responses and clients on a link.

extension LinkAnswer {
    init(_ response: Response) {
        var response = response
        // Only requests for streams get one, and those are not forwarded.
        if case .endedStream(let problem) = response.body { response = .problem(problem) }
        self.init(
            status: UInt16(response.status), code: response.code ?? "",
            fields: response.fields.map { Field($0.0, $0.1) }, body: response.body.bytes)
    }
}

extension Response.Body {
    var bytes: [UInt8] {
        switch self {
        case .bytes(let bytes), .constant(let bytes): bytes
        case .parts(let beginning, let shared, let end): beginning + shared + end
        case .endedStream, .streamHead: []
        }
    }
}

extension Response {
    /// The response to a client whose request another node has answered.
    init(_ answer: LinkAnswer) {
        self.init(
            status: Int(answer.status), fields: answer.fields.map { ($0.name, $0.value) },
            body: .bytes(answer.body), code: answer.code.isEmpty ? nil : answer.code)
    }
}

extension LinkAccess {
    /// The bits never change: two nodes may be of different releases.
    fileprivate static let verbBits: [(Grants.Verb, UInt16)] = [
        (.create, 1), (.act, 2), (.read, 4), (.log, 8), (.delete, 16), (.admin, 32),
    ]
    /// The bit that marks a request of the program that hosts a node.
    fileprivate static let programBit: UInt16 = 64

    init(_ access: Access) {
        let (principal, grants) = (access.principal, access.grants)
        self.init(
            subject: principal.subject, expiresAt: principal.expiresAtSeconds,
            verbs: Self.verbBits.reduce(access.isProgram ? Self.programBit : 0) {
                $0 | (grants.verbs.contains($1.0) ? $1.1 : 0)
            },
            sessions: grants.sessions.compactMap(\.text), ownSessions: grants.ownSessions,
            reactors: grants.reactors?.sorted(), pulses: grants.pulses?.sorted(),
            actions: grants.actions?.sorted())
    }
}

extension Access {
    /// The client that another node has verified; nil if a pattern of sessions is malformed.
    convenience init?(_ access: LinkAccess, at now: Int64) {
        let patterns = access.sessions.compactMap { Grants.SessionPattern($0) }
        guard patterns.count == access.sessions.count else { return nil }
        let verbs = LinkAccess.verbBits.filter { access.verbs & $0.1 != 0 }.map(\.0)
        let grants = Grants(
            verbs: Set(verbs), sessions: patterns, ownSessions: access.ownSessions,
            reactors: access.reactors.map { Set($0) }, pulses: access.pulses.map { Set($0) },
            actions: access.actions.map { Set($0) })
        self.init(
            "",
            Principal(
                subject: access.subject, grants: grants, expiresAtSeconds: access.expiresAt),
            at: now, isProgram: access.verbs & LinkAccess.programBit != 0)
    }
}

extension Grants.SessionPattern {
    /// Nil for a pattern that no id matches: a program's own authenticator may make one, and its
    /// text would be another pattern. `*` as an id would be every session.
    fileprivate var text: String? {
        let text =
            switch self {
            case .id(let id): id
            case .prefix(let prefix): "\(prefix)*"
            }
        return Self(text) == self ? text : nil
    }
}
