internal import DequeModule
internal import Storage

/// The requests with an `Idempotency-Key` that a session has received (contract §3.1).
///
/// Design: an entry exists from the moment a request is received. Its answer is committed together
/// with its decisions. If the journal stores answers, this is a cache of the newest ones. Otherwise
/// entries are kept for 24 hours, and at the limit a new key is refused, because an old key must not
/// be forgotten early.
final class IdempotencyKeys {
    enum Entry {
        /// The request was received and is not answered yet.
        case running(digest: [UInt8])
        case answered(StoredAnswer)
    }

    /// Invariant: every key in `order` is in `entries`.
    private var entries: [ExactText: Entry] = [:]
    /// Keys with a reply, oldest first.
    private var order: Deque<(key: String, time: Int64)> = []
    /// Keys whose request is in progress, by the token of its reply.
    private var running: [UInt64: String] = [:]
    /// The committed replies of requests that wait for effects to end, used if no later reply
    /// replaces them.
    private var preliminary: [UInt64: StoredAnswer] = [:]
    /// The requests whose keys are being looked up in the journal.
    private var lookUps: [UInt64: LookUp] = [:]
    /// Whether the journal may have replies that are not in `entries`.
    private(set) var isPartial: Bool

    /// Precedent: Stripe keeps keys for 24 hours; so does the contract.
    static let keptMilliseconds: Int64 = 86_400_000
    static let limit = 10_000
    /// The limit of answers in memory if the journal stores answers.
    static let cacheLimit = 1_000

    /// The state of a request whose key is being looked up.
    enum LookUp {
        case waits
        /// The time of `?wait=settled` is over.
        case expired
        /// The connection is closed.
        case disconnected
    }

    init(isPartial: Bool) { self.isPartial = isPartial }

    var hasRunning: Bool { !running.isEmpty }

    func entry(_ key: String) -> Entry? { entries[ExactText(key)] }

    /// Makes room for one more entry.
    ///
    /// - Parameter isKeptElsewhere: whether the journal stores answers.
    /// - Returns: false if there is no room.
    func makeRoom(at now: Int64, isKeptElsewhere: Bool) -> Bool {
        if isKeptElsewhere {
            while order.count >= Self.cacheLimit { dropOldest() }
            return running.count < Self.limit
        }
        while let oldest = order.first, now - oldest.time > Self.keptMilliseconds { dropOldest() }
        return entries.count < Self.limit
    }

    private func dropOldest() {
        guard let oldest = order.popFirst() else { return }
        entries[ExactText(oldest.key)] = nil
        isPartial = true
    }

    func begin(_ key: String, digest: [UInt8], for token: UInt64) {
        entries[ExactText(key)] = .running(digest: digest)
        running[token] = key
    }

    func beginLookUp(for token: UInt64) { lookUps[token] = .waits }

    /// Changes nothing if the request's key is not being looked up.
    func setLookUp(_ token: UInt64, _ state: LookUp) {
        if lookUps[token] != nil { lookUps[token] = state }
    }

    func endLookUp(for token: UInt64) -> LookUp {
        lookUps.removeValue(forKey: token) ?? .waits
    }

    func key(of token: UInt64) -> String? { running[token] }

    func digest(of key: String) -> [UInt8]? {
        if case .running(let digest)? = entries[ExactText(key)] { digest } else { nil }
    }

    /// Keeps the committed answer of a request that waits for effects.
    func keep(_ answer: StoredAnswer, for token: UInt64) {
        if running[token] != nil { preliminary[token] = answer }
    }

    /// Ends the wait of a request: the committed answer becomes final. Without one the request is
    /// forgotten.
    func endWaiting(_ token: UInt64) {
        guard let answer = preliminary[token] else { return forget(token) }
        end(token, with: answer)
    }

    /// Stores the committed answer of a request.
    func end(_ token: UInt64, with answer: StoredAnswer) {
        preliminary[token] = nil
        guard let key = running.removeValue(forKey: token) else { return }
        entries[ExactText(key)] = .answered(answer)
        order.append((key, answer.time))
    }

    /// Forgets a request of which nothing was carried out: it may be sent again.
    func forget(_ token: UInt64) {
        preliminary[token] = nil
        guard let key = running.removeValue(forKey: token) else { return }
        entries[ExactText(key)] = nil
    }

    /// Caches an answer that the journal has.
    func remember(_ answer: StoredAnswer) {
        guard entries[ExactText(answer.key)] == nil else { return }
        entries[ExactText(answer.key)] = .answered(answer)
        order.append((answer.key, answer.time))
    }
}
