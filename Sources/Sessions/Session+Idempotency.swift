internal import Reactors
internal import Storage

// `Idempotency-Key` (contract §3.1): the same request twice is one request.
extension Session {
    /// Whether the reactor gets the request now. If not, it has been answered, or is as
    /// soon as the journal has said whether it knows the key.
    func admits(_ post: ActionPost) throws(ActionRefusal) -> Bool {
        guard let key = post.key else { return true }
        let keys = keys ?? makeKeys()
        let digest = Digest.of(post.body)
        switch keys.entry(key) {
        case .running(let known):
            table.output.reply(
                content(known == digest ? .keyRunning : .keyReused), to: post.token)
            return false
        case .answered(let stored):
            answerAgain(stored, digest, post.token)
            return false
        case nil: break
        }
        guard keys.makeRoom(at: table.time, isKeptElsewhere: persistence != nil) else {
            throw .tooManyKeys(limit: IdempotencyKeys.limit)
        }
        keys.begin(key, digest: digest, for: post.token)
        guard persistence != nil, keys.isPartial else { return true }
        lookUp(post, key, digest, in: keys)
        return false
    }

    private func makeKeys() -> IdempotencyKeys {
        let keys = IdempotencyKeys(isPartial: persistence?.hasStoredAnswers ?? false)
        self.keys = keys
        return keys
    }

    private func lookUp(
        _ post: ActionPost, _ key: String, _ digest: [UInt8], in keys: IdempotencyKeys
    ) {
        let (sessionKey, asked) = (self.key, incarnation)
        keys.beginLookUp(for: post.token)
        table.beginLookUp(ofBytes: post.body.count)
        askArchive { archive, answer in
            archive.storedAnswer(of: sessionKey, key: key, answer)
        } then: { [self] result in
            table.endLookUp(ofBytes: post.body.count)
            let waiter = keys.endLookUp(for: post.token)
            // A decision made meanwhile comes first: a deletion, or a commit that failed.
            guard isRunning, incarnation == asked else {
                keys.forget(post.token)
                return answer(content(absence), post.token)
            }
            switch result {
            case .failure(let failure):
                keys.forget(post.token)
                table.output.reply(content(.unreadable(failure)), to: post.token)
            case .success(let stored?):
                keys.forget(post.token)
                keys.remember(stored)
                answerAgain(stored, digest, post.token)
            case .success(nil):
                receiveLate(post, waiter, keys)
            }
        }
    }

    /// The journal does not know the key: the request is carried out, even if its connection is gone.
    private func receiveLate(
        _ post: ActionPost, _ waiter: IdempotencyKeys.LookUp, _ keys: IdempotencyKeys
    ) {
        do throws(ActionRefusal) {
            try receive(post)
        } catch {
            keys.forget(post.token)
            return table.output.reply(content(.refused(error)), to: post.token)
        }
        switch waiter {
        case .waits: break
        case .expired: stopWaiting(post.token)
        case .disconnected: forget(post.token)
        }
    }

    private func answerAgain(_ stored: StoredAnswer, _ digest: [UInt8], _ token: UInt64) {
        let kind: Reply.Kind = stored.bodyDigest == digest ? .replayed(stored) : .keyReused
        answer(content(kind), token)
    }

    /// An answer is decided: it goes into the commit that it waits for.
    func store(_ content: Reply.Content, for token: UInt64, in keys: IdempotencyKeys) {
        guard let key = keys.key(of: token), let digest = keys.digest(of: key) else { return }
        let status: Int
        switch content.kind {
        case .received: status = 200
        case .unsettled: status = 202
        default: return keys.forget(token)
        }
        var body: [UInt8] = []
        content.appendReceipt(to: &body)
        var stored = StoredAnswer(
            session: id.text, generation: generation.text, key: key, bodyDigest: digest,
            status: status, body: body, time: table.time)
        stored.number = history.newest.number
        let step = step()
        if keepsRecords { step.batch.answers.append(stored) }
        step.answered.append((token, stored))
    }

    /// Its actions are decided, and it waits for their effects: should the process end before
    /// they do, this is its answer.
    func storePreliminary(_ content: Reply.Content, for token: UInt64) {
        guard let keys, keys.key(of: token) != nil else { return }
        store(content, for: token, in: keys)
        guard let last = step().answered.popLast() else { return }
        step().preliminary.append(last)
    }

    func commitAnswers(of step: Step) {
        guard let keys else { return }
        for (token, answer) in step.preliminary { keys.keep(answer, for: token) }
        for (token, answer) in step.answered { keys.end(token, with: answer) }
    }

    func forgetAnswers(of step: Step) {
        guard let keys else { return }
        for (token, _) in step.preliminary { keys.forget(token) }
        for (token, _) in step.answered { keys.endWaiting(token) }
    }
}

/// A digest by which equal bodies are recognised.
///
/// FNV-1a with 128 bits. Why nothing stronger: a client that makes two bodies collide under one
/// key only gets its own earlier answer.
/// Source: [FNV](http://www.isthe.com/chongo/tech/comp/fnv/).
enum Digest {
    static func of(_ body: [UInt8]) -> [UInt8] {
        var hash: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
        for byte in body { hash = (hash ^ UInt128(byte)) &* 0x0100_0000_0000_0000_0000_013B }
        return (0..<16).map { UInt8(truncatingIfNeeded: hash >> (120 - 8 * UInt128($0))) }
    }
}
