internal import JSONCoding

extension Request {
    /// The session to create: the name of its reactor, which the client may use, and the
    /// origin of a fork.
    func sessionToCreate() throws(Problem) -> SessionBody {
        try requireJSON()
        try requireSmallBody()
        let wanted: SessionBody
        do {
            wanted = try JSON.decode(SessionBody.self, from: body)
        } catch {
            throw Problem(error, mismatch: "not_a_session")
        }
        if let grants = access?.grants, !grants.permits(reactor: wanted.reactor) {
            throw .forbidden
        }
        return wanted
    }
}

/// The body of a request that makes a session: `{"reactor":"<name>"}`, and
/// `"from":{"session":"<id>","version":<n>}` for a fork.
///
/// An unknown member is refused: a misspelt one would make another session than the client intends.
struct SessionBody: Decodable {
    var reactor: String
    var from: Origin?

    private enum CodingKeys: String, CodingKey, CaseIterable { case reactor, from }

    init(from decoder: any Decoder) throws {
        try decoder.refuseMembers(besides: CodingKeys.allCases)
        let members = try decoder.container(keyedBy: CodingKeys.self)
        reactor = try members.decode(String.self, forKey: .reactor)
        from = try members.decodeIfPresent(Origin.self, forKey: .from)
    }
}

/// The origin of a fork: `{"session":"<id>","version":<n>}`; without a version, the current one.
struct Origin: Decodable, Equatable, Sendable {
    var session: String
    var version: UInt64?

    private enum CodingKeys: String, CodingKey, CaseIterable { case session, version }

    init(from decoder: any Decoder) throws {
        try decoder.refuseMembers(besides: CodingKeys.allCases)
        let members = try decoder.container(keyedBy: CodingKeys.self)
        session = try members.decode(String.self, forKey: .session)
        version = try members.decodeIfPresent(UInt64.self, forKey: .version)
    }
}

extension Decoder {
    /// - Throws: `dataCorrupted` at the first member that is not among `known`.
    func refuseMembers(besides known: [some CodingKey]) throws {
        let names = known.map(\.stringValue)
        let members = try container(keyedBy: AnyMember.self)
        guard let stranger = members.allKeys.first(where: { !names.contains($0.stringValue) })
        else { return }
        throw DecodingError.dataCorruptedError(
            forKey: stranger, in: members,
            debugDescription: "unknown member; the members are \(names.joined(separator: ", "))")
    }
}

struct AnyMember: CodingKey {
    let stringValue: String
    let intValue: Int? = nil

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
