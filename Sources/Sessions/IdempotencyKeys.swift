internal import DequeModule
internal import Reactors
internal import Storage

/// The requests with an `Idempotency-Key` that a session has received (contract §3.1).
///
/// Design: an entry exists from the moment a request is received. Its answer is committed together
/// with its decisions. If the journal stores answers, this is a cache of the newest ones. Otherwise
/// entries are kept for 24 hours. An old key must not be forgotten early, so at the limit a new key
/// is refused, unless clients have released old ones (ADR-0072).
package final class IdempotencyKeys {
    enum Entry {
        /// The request was received and is not answered yet.
        case running(digest: [UInt8])
        /// Its actions are committed, with this answer; their effects have not ended.
        case unsettled(StoredAnswer)
        case answered(StoredAnswer)
    }

    /// A request with `?wait=settled` whose effects have not ended, whether a client waits or not.
    struct Wait {
        let actions: [ActionTag]
        let receipt: Receipt
        /// The answer once the effects have ended: decided, and committed with the next step.
        var answer: StoredAnswer?
        /// Its client will not use the key again.
        var isReleased = false
    }

    /// A key in a queue. `number` identifies the entry, because the key can have another entry
    /// later.
    private typealias Place = (key: String, number: UInt64, time: Int64)

    private var entries: [ExactText: (entry: Entry, number: UInt64)] = [:]
    /// Bytes of the answered keys, and of their answers.
    private var bytes = 0
    private var answeredCount = 0
    private var lastNumber: UInt64 = 0
    /// Keys with a reply, oldest first. Places whose entry is gone are skipped. Invariant: at most
    /// twice as many as entries, plus 16.
    private var order: Deque<Place> = []
    /// Keys that their clients have released, oldest first. Places whose entry is gone are skipped.
    /// A copy of such a request can still be under way, so the newest are kept while there is room.
    /// Invariant after ``release(_:)``: as for `order`.
    private var released: Deque<Place> = []
    /// Keys whose request is not decided, by the token of its reply.
    private var running: [UInt64: String] = [:]
    /// Invariant: a key in `entries` that is `unsettled` is one of these.
    private(set) var waits: [ExactText: Wait] = [:]
    /// The requests whose keys are being looked up in the journal.
    private var lookUps: [UInt64: LookUp] = [:]
    /// Whether the journal may have replies that are not in `entries`.
    private(set) var isPartial: Bool

    /// Precedent: Stripe keeps keys for 24 hours; so does the contract.
    static let keptMilliseconds: Int64 = 86_400_000
    package static let limit = 10_000
    /// The limit of the bytes of answered keys of a session, if the journal does not store answers.
    package static let limitBytes = 4_194_304
    /// The number of released keys that are kept while there is room.
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

    func entry(_ key: String) -> Entry? { entries[ExactText(key)]?.entry }

    /// Makes room for one more entry.
    ///
    /// - Parameter isKeptElsewhere: whether the journal stores answers.
    /// - Returns: false if there is no room.
    func makeRoom(at now: Int64, isKeptElsewhere: Bool) -> Bool {
        if isKeptElsewhere {
            while answeredCount >= Self.cacheLimit, drop(order.popFirst()) {}
            return entries.count - answeredCount < Self.limit
        }
        while let oldest = order.first, now - oldest.time > Self.keptMilliseconds {
            drop(order.popFirst())
        }
        while released.count > Self.releasedLimit || !hasRoom, drop(released.popFirst()) {}
        return hasRoom
    }

    private var hasRoom: Bool { entries.count < Self.limit && bytes < Self.limitBytes }

    /// Releases keys that their clients will not use again.
    func release(_ keys: [String]) {
        for key in keys {
            waits[ExactText(key)]?.isReleased = true
            guard case (.answered(let answer), let number)? = entries[ExactText(key)] else {
                continue
            }
            released.append((key, number, answer.time))
        }
        if released.count > 2 * entries.count + 16 { removeGone(from: &released) }
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

    func isRunning(_ token: UInt64) -> Bool { running[token] != nil }

    func digest(of key: String) -> [UInt8]? {
        switch entry(key) {
        case .running(let digest): digest
        case .unsettled(let answer), .answered(let answer): answer.bodyDigest
        case nil: nil
        }
    }

    /// The request of this token is decided; its answer is committed with the present step.
    func decide(_ token: UInt64) -> (key: String, digest: [UInt8])? {
        guard let key = running.removeValue(forKey: token), let digest = digest(of: key) else {
            return nil
        }
        return (key, digest)
    }

    // MARK: Waits for effects

    func beginWait(of key: String, for receipt: Receipt) {
        waits[ExactText(key)] = Wait(actions: receipt.unsettled, receipt: receipt)
    }

    func decideWait(of key: String, _ answer: StoredAnswer) {
        waits[ExactText(key)]?.answer = answer
    }

    func wait(of key: String) -> Wait? { waits[ExactText(key)] }

    /// The answer to a request whose effects have ended, committed or about to be.
    func settled(_ key: String) -> StoredAnswer? { wait(of: key)?.answer }

    /// The effects were cancelled, and their end is never seen here: the committed answers
    /// stay as they are.
    func abandonWaits() {
        for key in waits.keys {
            if case .unsettled(let answer)? = entries[key]?.entry { end(with: answer) }
        }
        waits = [:]
    }

    // MARK: Commits

    /// Keeps the committed answer of a request whose effects have not ended.
    func keep(_ answer: StoredAnswer) {
        if wait(of: answer.key) != nil { set(answer.key, .unsettled(answer)) }
    }

    /// Keeps the committed answer of a request.
    func end(with answer: StoredAnswer) {
        let wait = waits.removeValue(forKey: ExactText(answer.key))
        set(answer.key, .answered(answer))
        if wait?.isReleased ?? false { release([answer.key]) }
    }

    /// The answer to a request was not committed. Keeps an earlier committed answer, if there is
    /// one.
    func takeBack(_ key: String) {
        guard case .running? = entry(key) else { return }
        remove(key)
        waits[ExactText(key)] = nil
    }

    /// Forgets a request of which nothing was carried out: it may be sent again.
    func forget(_ token: UInt64) {
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
    /// Its size against ``IdempotencyKeys/limitBytes``.
    fileprivate var keptBytes: Int { 2 * key.utf8.count + body.count + bodyDigest.count + 128 }
}
