internal import DequeModule
internal import Storage

/// The requests with an `Idempotency-Key` that a session has seen (contract §3.1).
///
/// Design: an entry exists from the moment a request is received. Its answer goes to the journal
/// in the commit of what it did; where the journal keeps answers, this is a cache of the newest.
/// Without such a journal it is all there is: then entries are kept for 24 hours, and at the limit
/// a new key is refused instead of an old one being forgotten early.
final class IdempotencyKeys {
    enum Entry {
        /// It was received and not answered yet.
        case running(digest: [UInt8])
        case answered(StoredAnswer)
    }

    /// Invariant: every key in `order` is in `entries`.
    private var entries: [String: Entry] = [:]
    /// Keys with a reply, oldest first.
    private var order: Deque<(key: String, time: Int64)> = []
    /// Keys whose request is in progress, by the token of its reply.
    private var running: [UInt64: String] = [:]
    /// The committed replies of requests that wait for effects to end, used if no later reply
    /// replaces them.
    private var preliminary: [UInt64: StoredAnswer] = [:]
    /// The requests whose keys are being looked up in the journal, and how each of them waits.
    private var lookUps: [UInt64: LookUp] = [:]
    /// The journal may hold replies that are not in `entries`.
    private(set) var isPartial: Bool

    /// Precedent: Stripe keeps keys for 24 hours; so does the contract.
    static let keptMilliseconds: Int64 = 86_400_000
    static let limit = 10_000
    /// With a journal that keeps answers.
    static let cacheLimit = 1_000

    /// Who waits for the answer to a request whose key is being looked up.
    enum LookUp {
        case waits
        /// `?wait=settled`: the time is over.
        case expired
        case disconnected
    }

    init(isPartial: Bool) { self.isPartial = isPartial }

    var hasRunning: Bool { !running.isEmpty }

    func entry(_ key: String) -> Entry? { entries[key] }

    /// Makes room for one more; false if there is none.
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
        entries[oldest.key] = nil
        isPartial = true
    }

    func begin(_ key: String, digest: [UInt8], for token: UInt64) {
        entries[key] = .running(digest: digest)
        running[token] = key
    }

    func beginLookUp(for token: UInt64) { lookUps[token] = .waits }

    /// Changes nothing if no key is being looked up for it.
    func setLookUp(_ token: UInt64, _ state: LookUp) {
        if lookUps[token] != nil { lookUps[token] = state }
    }

    func endLookUp(for token: UInt64) -> LookUp {
        lookUps.removeValue(forKey: token) ?? .waits
    }

    func key(of token: UInt64) -> String? { running[token] }

    func digest(of key: String) -> [UInt8]? {
        if case .running(let digest)? = entries[key] { digest } else { nil }
    }

    /// The request's actions are committed, and it waits for their effects.
    func keep(_ answer: StoredAnswer, for token: UInt64) {
        if running[token] != nil { preliminary[token] = answer }
    }

    /// Nobody waits any more: what is committed is the answer, if anything is.
    func endWaiting(_ token: UInt64) {
        guard let answer = preliminary[token] else { return forget(token) }
        end(token, with: answer)
    }

    /// The answer is committed.
    func end(_ token: UInt64, with answer: StoredAnswer) {
        preliminary[token] = nil
        guard let key = running.removeValue(forKey: token) else { return }
        entries[key] = .answered(answer)
        order.append((key, answer.time))
    }

    /// Nothing of the request has happened: it may be sent again.
    func forget(_ token: UInt64) {
        preliminary[token] = nil
        guard let key = running.removeValue(forKey: token) else { return }
        entries[key] = nil
    }

    /// The journal has it; the next one need not ask.
    func remember(_ answer: StoredAnswer) {
        guard entries[answer.key] == nil else { return }
        entries[answer.key] = .answered(answer)
        order.append((answer.key, answer.time))
    }
}
