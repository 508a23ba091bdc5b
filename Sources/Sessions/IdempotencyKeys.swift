internal import DequeModule
internal import Storage

/// The requests with an `Idempotency-Key` that a session has received (contract §3.1).
///
/// Design: an entry exists from the moment a request is received. Its answer is committed together
/// with its decisions. If the journal stores answers, this is a cache of the newest ones. Otherwise
/// entries are kept for 24 hours, and at the limit a new key is refused, because an old key must not
/// be forgotten early: unless its client has said that it will not use it again (ADR-0072).
package final class IdempotencyKeys {
    enum Entry {
        /// The request was received and is not answered yet.
        case running(digest: [UInt8])
        case answered(StoredAnswer)
    }

    /// The place of a key among others. Its number is that of the entry: a key can have another one later.
    private typealias Place = (key: String, number: UInt64, time: Int64)

    private var entries: [ExactText: (entry: Entry, number: UInt64)] = [:]
    /// Bytes of the answered keys, and of their answers.
    private var bytes = 0
    private var answeredCount = 0
    private var lastNumber: UInt64 = 0
    /// Keys with a reply, oldest first. Places whose entry is gone are passed over. Invariant: at most
    /// twice as many as entries, and 16.
    private var order: Deque<Place> = []
    /// Those that their clients will not use again, in the order in which they have said so; likewise.
    /// A copy of such a request can still be under way, so the newest are kept.
    private var released: Deque<Place> = []
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
    package static let limit = 10_000
    /// The limit of the bytes of answered keys of a session, if the journal does not store answers.
    package static let limitBytes = 4_194_304
    /// The number of released keys that are kept.
    static let releasedLimit = 1_000
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

    func entry(_ key: String) -> Entry? { entries[ExactText(key)]?.entry }

    /// Makes room for one more entry.
    ///
    /// - Parameter isKeptElsewhere: whether the journal stores answers.
    /// - Returns: false if there is no room.
    func makeRoom(at now: Int64, isKeptElsewhere: Bool) -> Bool {
        if isKeptElsewhere {
            while answeredCount >= Self.cacheLimit, drop(order.popFirst()) {}
            return running.count < Self.limit
        }
        while let oldest = order.first, now - oldest.time > Self.keptMilliseconds {
            drop(order.popFirst())
        }
        while released.count > Self.releasedLimit || !hasRoom, drop(released.popFirst()) {}
        return hasRoom
    }

    private var hasRoom: Bool { entries.count < Self.limit && bytes < Self.limitBytes }

    /// Their clients will not use these keys again.
    func release(_ keys: [String]) {
        for key in keys {
            guard case (.answered(let answer), let number)? = entries[ExactText(key)] else {
                continue
            }
            released.append((key, number, answer.time))
        }
        if released.count > 2 * Self.releasedLimit { removeGone(from: &released) }
    }

    /// - Returns: false if there is none.
    @discardableResult
    private func drop(_ first: Place?) -> Bool {
        guard let first else { return false }
        guard entries[ExactText(first.key)]?.number == first.number else { return true }
        remove(first.key)
        isPartial = true
        return true
    }

    private func remove(_ key: String) {
        guard let removed = entries.removeValue(forKey: ExactText(key)) else { return }
        guard case .answered(let answer) = removed.entry else { return }
        bytes -= answer.keptBytes
        answeredCount -= 1
        if order.count > 2 * entries.count + 16 { removeGone(from: &order) }
    }

    private func removeGone(from places: inout Deque<Place>) {
        var seen: Set<UInt64> = []
        places = Deque(
            places.filter {
                entries[ExactText($0.key)]?.number == $0.number && seen.insert($0.number).inserted
            })
    }

    private func set(_ key: String, _ entry: Entry) {
        remove(key)
        lastNumber += 1
        entries[ExactText(key)] = (entry, lastNumber)
        guard case .answered(let answer) = entry else { return }
        bytes += answer.keptBytes
        answeredCount += 1
        order.append((key, lastNumber, answer.time))
    }

    func begin(_ key: String, digest: [UInt8], for token: UInt64) {
        set(key, .running(digest: digest))
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
        if case .running(let digest)? = entry(key) { digest } else { nil }
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
        set(key, .answered(answer))
    }

    /// Forgets a request of which nothing was carried out: it may be sent again.
    func forget(_ token: UInt64) {
        preliminary[token] = nil
        guard let key = running.removeValue(forKey: token) else { return }
        remove(key)
    }

    /// Caches an answer that the journal has.
    func remember(_ answer: StoredAnswer) {
        guard entries[ExactText(answer.key)] == nil else { return }
        set(answer.key, .answered(answer))
    }
}

extension StoredAnswer {
    /// The bytes for which it counts among the kept ones.
    fileprivate var keptBytes: Int { 2 * key.utf8.count + body.count + bodyDigest.count + 128 }
}
