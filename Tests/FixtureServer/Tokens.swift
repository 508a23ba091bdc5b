import Glibc
import ReactorHosting
import Synchronization

/// Reads tokens whose text lists their grants, for tests of the server's part:
/// `name;verbs;sessions;reactors;pulses;actions;seconds`, lists with commas, `-` for everything,
/// and `@` among the sessions for own ones. The seconds count from the verification, or from 1970
/// after `@`. Anything else is invalid. A token named `once` or `heldonce` is valid for one
/// verification. `down` cannot be verified. A token whose name begins with `held` waits until one
/// named `release` was verified.
final class Tokens: Authenticator {
    private struct Held {
        var isReleased = false
        var wasUsed = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let held = Mutex(Held())

    /// Nil unless the environment has `FIXTURE_TOKENS`.
    static func fromEnvironment() -> Tokens? {
        unsafe getenv("FIXTURE_TOKENS") == nil ? nil : Tokens()
    }

    func authenticate(bearer token: String) async throws(AuthenticationFailure) -> Principal {
        if token == "down" { throw .unavailable("the fixture is down") }
        let parts = token.split(separator: ";", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 7, let end = end(parts[6]) else {
            throw .invalid("the fixture does not know it")
        }
        if parts[0].hasPrefix("held") { await waitForRelease() }
        if parts[0] == "release" { release() }
        if parts[0].hasSuffix("once") {
            let wasUsed = held.withLock { held in
                defer { held.wasUsed = true }
                return held.wasUsed
            }
            if wasUsed { throw .invalid("it was used") }
        }
        let grants = Grants(
            verbs: Set(list(parts[1])?.compactMap(Grants.Verb.init) ?? Grants.Verb.allCases),
            sessions: list(parts[2])?.compactMap(Grants.SessionPattern.init) ?? [.prefix("")],
            ownSessions: list(parts[2])?.contains("@") ?? false,
            reactors: list(parts[3]).map(Set.init), pulses: list(parts[4]).map(Set.init),
            actions: list(parts[5]).map(Set.init))
        return Principal(
            subject: parts[0], grants: grants, expiresAtSeconds: end)
    }

    private func end(_ text: String) -> Int64? {
        if text.hasPrefix("@") { return Int64(text.dropFirst()) }
        return Int64(text).map { Int64(time(nil)) + $0 }
    }

    /// Nil for everything.
    private func list(_ text: String) -> [String]? {
        text == "-" ? nil : text.split(separator: ",").map(String.init)
    }

    private func waitForRelease() async {
        await withCheckedContinuation { continuation in
            let isReleased = held.withLock { held in
                if !held.isReleased { held.waiting.append(continuation) }
                return held.isReleased
            }
            if isReleased { continuation.resume() }
        }
    }

    private func release() {
        let waiting = held.withLock { held in
            held.isReleased = true
            defer { held.waiting = [] }
            return held.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
