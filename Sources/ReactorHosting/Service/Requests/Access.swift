internal import Sockets
internal import Storage

/// A verified client, as one loop keeps it: the token, and what it grants.
///
/// Shared by the requests with the token, so that a request costs a reference and no copy.
final class Access: Sendable {
    /// The bytes of the token. A request has the same access only if all of them are equal.
    let token: ArraySlice<UInt8>
    let principal: Principal
    /// Milliseconds since 1970, in the range that a clock can reach.
    let expiresAtMilliseconds: Int64
    /// Milliseconds since 1970. From then on the token is verified again.
    let verifyAgainAtMilliseconds: Int64
    /// Whether this is the program that hosts the server. It may act without a client.
    let isProgram: Bool

    /// A verified token is kept for this time, and so a removed key is effective.
    static let keptMilliseconds: Int64 = 60_000

    init(_ token: String, _ principal: Principal, at now: Int64, isProgram: Bool = false) {
        self.isProgram = isProgram
        self.token = Array(token.utf8)[...]
        self.principal = principal
        // The year 9999.
        let seconds = min(max(principal.expiresAtSeconds, 0), 253_402_300_799)
        expiresAtMilliseconds = seconds * 1_000
        verifyAgainAtMilliseconds = min(expiresAtMilliseconds, now + Self.keptMilliseconds)
    }

    var grants: Grants { principal.grants }

    /// The client for whom requests act. It owns the sessions that they create. Nil for no client.
    var subject: ExactText? {
        // No client has an empty name.
        isProgram && principal.subject.isEmpty ? nil : principal.identity
    }

    /// The end of the token on the loop's clock; it saturates.
    func end(on loop: LoopResources) -> LoopInstant {
        loop.now + .milliseconds(expiresAtMilliseconds - loop.table.wallClockMilliseconds)
    }
}

/// Verified tokens, by their ends: the part that differs most.
///
/// Design: only tokens that were accepted are kept, so only clients of the issuer can fill it. When
/// it is full, an entry makes room.
struct VerifiedTokens {
    private var entries: [UInt64: Access] = [:]
    private let limit: Int

    /// - Parameter limit: The maximum number of tokens; a token has 8 KiB at most.
    init(limit: Int) {
        self.limit = limit
    }

    var count: Int { entries.count }

    /// Nil if the token is to be verified, for the first time or again.
    func find(_ token: ArraySlice<UInt8>, at now: Int64) -> Access? {
        guard let access = entries[Self.key(token)], access.token == token,
            now < access.verifyAgainAtMilliseconds
        else { return nil }
        return access
    }

    mutating func insert(_ access: Access, at now: Int64) {
        let key = Self.key(access.token)
        if entries.count >= limit, entries[key] == nil {
            entries = entries.filter { now < $0.value.verifyAgainAtMilliseconds }
            while entries.count >= limit { entries.remove(at: entries.startIndex) }
        }
        entries[key] = access
    }

    /// FNV-1a of the end of the signature, which nobody can choose. Equal keys replace each other.
    private static func key(_ token: ArraySlice<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in token.suffix(32) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return hash
    }
}
