internal import JSONCoding
internal import ReactorHosting

// Grants as a claim:
//
//     {"verbs":["act","read"],"sessions":["table-*"],"own":true,"reactors":["chat"],
//      "pulses":["message"],"actions":["say"]}
//
// `verbs` and `sessions` are required; without `own` other sessions are not granted to the client
// that has created them; without one of the others, all are granted. Strict: a misspelt restriction
// must not grant more than the issuer intends.
extension Grants {
    static let maximumEntries = 256

    /// - Parameter name: The name of the claim, for the reason.
    /// - Throws: ``AuthenticationFailure/invalid(_:)`` for unknown members and verbs, and for
    ///   values of another type. The signature is verified, so the reason quotes the claim.
    init(claim: JSONValue, named name: String) throws(AuthenticationFailure) {
        guard case .object(let members) = claim else {
            throw .invalid("the claim \"\(name)\" is not an object")
        }
        var lists: [String: [String]] = [:]
        var own = false
        for member in members {
            guard Self.members.contains(member.key) else {
                throw .invalid(
                    "the claim \"\(name)\" has the unknown member \(Self.quoted(member.key)); the "
                        + "members are \(Self.members.joined(separator: ", "))")
            }
            guard member.key == "own" else {
                lists[member.key] = try Self.texts(member, of: name)
                continue
            }
            guard case .bool(let value) = member.value else {
                throw .invalid("\"own\" of the claim \"\(name)\" is neither true nor false")
            }
            own = value
        }
        guard let verbs = lists["verbs"], let sessions = lists["sessions"] else {
            throw .invalid("the claim \"\(name)\" needs \"verbs\" and \"sessions\"")
        }
        self.init(
            verbs: try Self.verbs(verbs, of: name), sessions: try Self.patterns(sessions, of: name),
            ownSessions: own, reactors: lists["reactors"].map(Set.init),
            pulses: lists["pulses"].map(Set.init),
            actions: lists["actions"].map(Set.init))
    }

    private static let members = ["verbs", "sessions", "own", "reactors", "pulses", "actions"]

    private static func verbs(
        _ texts: [String], of name: String
    ) throws(AuthenticationFailure) -> Set<Verb> {
        var verbs: Set<Verb> = []
        for text in texts {
            guard let verb = Verb(rawValue: text) else {
                let known = Verb.allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalid(
                    "the claim \"\(name)\" has the unknown verb \(quoted(text)); the verbs are "
                        + known)
            }
            verbs.insert(verb)
        }
        return verbs
    }

    private static func patterns(
        _ texts: [String], of name: String
    ) throws(AuthenticationFailure) -> [SessionPattern] {
        var patterns: [SessionPattern] = []
        for text in texts {
            guard let pattern = SessionPattern(text) else {
                throw .invalid(
                    "the claim \"\(name)\" has the session \(quoted(text)), which is neither an "
                        + "id nor the beginning of one followed by *")
            }
            patterns.append(pattern)
        }
        return patterns
    }

    private static func texts(
        _ member: JSONValue.Member, of name: String
    ) throws(AuthenticationFailure) -> [String] {
        guard case .array(let elements) = member.value, elements.count <= maximumEntries else {
            throw .invalid(
                "\"\(member.key)\" of the claim \"\(name)\" is not an array of at most "
                    + "\(maximumEntries) strings")
        }
        let texts = elements.compactMap(\.string)
        guard texts.count == elements.count else {
            throw .invalid(
                "\"\(member.key)\" of the claim \"\(name)\" contains a value that is not a string")
        }
        return texts
    }

    private static func quoted(_ text: String) -> String { "\"\(text.prefix(64))\"" }
}
