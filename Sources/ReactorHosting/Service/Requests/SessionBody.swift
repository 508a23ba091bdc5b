internal import JSONCoding
internal import Sessions

extension Request {
    /// The session to create: the name of its reactor, which the client may use, and the
    /// origin of a fork.
    func sessionToCreate() throws(Problem) -> SessionBody {
        let wanted = try decodeBody(SessionBody.self, else: "not_a_session")
        if let grants = access?.grants, !grants.permits(reactor: wanted.reactor) {
            throw .forbidden
        }
        return wanted
    }

    /// The body, which names a few things.
    ///
    /// - Parameter code: That of the problem if the body is JSON, but of a wrong form.
    func decodeBody<Body: StrictBody>(
        _ type: Body.Type, else code: String
    ) throws(Problem) -> Body {
        try requireJSON()
        try requireSmallBody()
        do {
            return try JSON.decode(Strict<Body>.self, from: body).value
        } catch {
            throw Problem(error, mismatch: code)
        }
    }
}

/// The body of a request that makes a session: `{"reactor":"<name>"}`, with `"input":…` if the
/// reactor takes one, or `"from":{"session":"<id>","version":<n>}` for a fork.
struct SessionBody: StrictBody {
    var reactor: String
    /// Also nil for `null`.
    var input: JSONValue?
    var from: Strict<Origin>?

    enum CodingKeys: String, CodingKey, CaseIterable { case reactor, input, from }

    /// The input as one line of JSON.
    var inputLine: [UInt8]? { input.map { JSON.line($0).dropLast() } }
}

extension Registration {
    /// The input, if a session of this reactor can be created with it.
    func accepted(_ body: SessionBody) throws(Problem) -> [UInt8]? {
        let input = body.inputLine
        do {
            try check(input)
        } catch {
            throw Problem(error, of: self)
        }
        return input
    }
}

/// The origin of a fork: `{"session":"<id>","version":<n>}`; without a version, the current one.
struct Origin: StrictBody, Sendable {
    var session: String
    var version: UInt64?

    enum CodingKeys: String, CodingKey, CaseIterable { case session, version }
}

/// A value of which all members are known.
protocol StrictBody: Decodable {
    associatedtype CodingKeys: CodingKey & CaseIterable
}

/// A value without unknown members: with a misspelt one, the request would do something else than
/// the client intends.
struct Strict<Body: StrictBody>: Decodable {
    let value: Body

    init(from decoder: any Decoder) throws {
        let names = Body.CodingKeys.allCases.map(\.stringValue)
        let members = try decoder.container(keyedBy: AnyMember.self)
        if let stranger = members.allKeys.first(where: { !names.contains($0.stringValue) }) {
            throw DecodingError.dataCorruptedError(
                forKey: stranger, in: members,
                debugDescription: "unknown member; the members are \(names.joined(separator: ", "))"
            )
        }
        value = try Body(from: decoder)
    }
}

struct AnyMember: CodingKey {
    let stringValue: String
    let intValue: Int? = nil

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
