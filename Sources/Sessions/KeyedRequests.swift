internal import Feeds
internal import Reactors
internal import Storage

/// Receives requests with an `Idempotency-Key` (contract §3.1): a repeated request is
/// carried out once.
struct KeyedRequests {
    let session: Session
    let keys: IdempotencyKeys

    private var table: SessionTable { session.table }

    /// - Returns: whether the session has to receive the request now. If not, the request has been
    ///   answered, or is handled when the journal has been asked for its key.
    func admits(_ post: ActionPost, _ key: String) throws(ActionRefusal) -> Bool {
        let own = post.body.digest ?? Digest.of(post.body.bytes)
        // A question matches any body.
        let digest = post.body.asksForAnswer ? keys.digest(of: key) ?? own : own
        switch keys.entry(key) {
        case .running(let known):
            let kind: Reply.Kind = known == digest ? .keyRunning : .keyReused
            table.output.reply(session.content(kind), to: post.token)
            return false
        case .unsettled(let stored):
            join(post, stored, digest)
            return false
        case .answered(let stored):
            answerAgain(stored, digest, post.token)
            return false
        case nil: break
        }
        let isArchived = session.persistence != nil
        guard keys.makeRoom(at: table.time, isKeptElsewhere: isArchived) else {
            throw .tooManyKeys
        }
        keys.begin(key, digest: digest, for: post.token)
        guard isArchived, keys.isPartial else { return !closes(post) }
        lookUp(post, key, digest)
        return false
    }

    /// Refuses a question about a key that nobody knows, and closes the key.
    ///
    /// Why: its client executes the actions under other keys from now on. The first request may
    /// still be on its way, through another node or a proxy.
    private func closes(_ post: ActionPost) -> Bool {
        guard post.body.asksForAnswer else { return false }
        if let (key, digest) = keys.decide(post.token) {
            let answer = stored(Array("null".utf8), StoredAnswer.closed, key, digest)
            session.step().answered.append(answer)
        }
        session.answer(session.content(.refused(.empty, by: session.registration)), post.token)
        return true
    }

    private func lookUp(_ post: ActionPost, _ key: String, _ digest: [UInt8]) {
        let sessionKey = session.key
        let size = post.body.bytes.count + post.body.scanBytes
        keys.beginLookUp(for: post.token)
        table.commits.beginLookUp(ofBytes: size)
        session.feed.askArchive { archive, answer in
            archive.storedAnswer(of: sessionKey, key: key, answer)
        } then: { result in
            table.commits.endLookUp(ofBytes: size)
            let waiter = keys.endLookUp(for: post.token)
            // The session may have been deleted, or a commit of it may have failed, meanwhile.
            guard session.isRunning else {
                keys.forget(post.token)
                return session.answer(session.content(session.absence), post.token)
            }
            switch result {
            case .failure(let failure):
                keys.forget(post.token)
                table.output.reply(session.content(.unreadable(failure)), to: post.token)
            case .success(let stored?):
                keys.forget(post.token)
                keys.remember(stored)
                let digest = post.body.asksForAnswer ? stored.bodyDigest : digest
                answerAgain(stored, digest, post.token)
            case .success(nil): receiveLate(post, waiter)
            }
        }
    }

    /// Receives a request whose key is not in the journal, even if its connection is closed.
    private func receiveLate(_ post: ActionPost, _ waiter: IdempotencyKeys.LookUp) {
        guard !closes(post) else { return }
        do throws(ActionRefusal) {
            try session.receive(post)
        } catch {
            keys.forget(post.token)
            return table.output.reply(
                session.content(.refused(error, by: session.registration)), to: post.token)
        }
        switch waiter {
        case .waits: break
        case .expired: session.stopWaiting(post.token)
        case .disconnected: session.forget(post.token)
        }
    }

    /// Receives a request again whose effects have not ended: it waits for them as the
    /// first one does.
    private func join(_ post: ActionPost, _ stored: StoredAnswer, _ digest: [UInt8]) {
        guard stored.bodyDigest == digest, post.waits, let wait = keys.wait(of: stored.key) else {
            return answerAgain(stored, digest, post.token)
        }
        // The answer is decided, and is sent after the commit.
        if let settled = wait.answer { return answerAgain(settled, digest, post.token) }
        session.waits.add(
            SettledWaits.Wait(
                token: post.token, actions: wait.actions, receipt: wait.receipt, earlier: stored))
    }

    private func answerAgain(_ stored: StoredAnswer, _ digest: [UInt8], _ token: UInt64) {
        let kind: Reply.Kind
        if stored.bodyDigest != digest {
            kind = .keyReused
        } else if stored.status == StoredAnswer.closed {
            kind = .refused(.empty, by: session.registration)
        } else {
            kind = .replayed(stored)
        }
        session.answer(session.content(kind), token)
    }

    /// Adds a decided answer to the step that it waits for.
    func store(_ content: Reply.Content, for token: UInt64) {
        guard keys.isRunning(token) else { return }
        guard case .received = content.kind else { return keys.forget(token) }
        guard let (key, digest) = keys.decide(token) else { return }
        session.step().answered.append(stored(content, 200, key, digest))
    }

    /// Adds the answer of a request that waits for effects. If the process ends before the effects
    /// do, this answer stays, because it is unknown whether they were carried out.
    func storePreliminary(_ receipt: Receipt, for token: UInt64) {
        guard let (key, digest) = keys.decide(token) else { return }
        let content = session.content(.unsettled(receipt))
        session.step().preliminary.append(stored(content, 202, key, digest))
        keys.beginWait(of: key, for: receipt)
    }

    /// Decides the answers of the requests whose effects have all ended, whether a client
    /// waits or not.
    func settle(by machine: any Machine) {
        let settled = keys.waits.filter { $1.answer == nil && machine.isSettled($1.actions) }
        let first = { (wait: IdempotencyKeys.Wait) in wait.actions.first?.number ?? 0 }
        for (exact, wait) in settled.sorted(by: { first($0.value) < first($1.value) }) {
            let key = exact.text
            guard let digest = keys.digest(of: key) else { continue }
            let content = session.content(.received(wait.receipt))
            let answer = stored(content, 200, key, digest)
            keys.decideWait(of: key, answer)
            session.step().answered.append(answer)
        }
    }

    /// The answer in the form that the journal stores with the present step.
    private func stored(
        _ content: Reply.Content, _ status: Int, _ key: String, _ digest: [UInt8]
    ) -> StoredAnswer {
        var body: [UInt8] = []
        content.appendReceipt(to: &body)
        return stored(body, status, key, digest)
    }

    private func stored(
        _ body: [UInt8], _ status: Int, _ key: String, _ digest: [UInt8]
    ) -> StoredAnswer {
        let stored = StoredAnswer(
            session: session.id.text, generation: session.generation.text, key: key,
            bodyDigest: digest, status: status, body: body, time: table.time)
        let step = session.step()
        if session.keepsRecords { step.batch.answers.append(stored) }
        return stored
    }
}

extension IdempotencyKeys {
    /// Stores the answers that were decided with a committed step.
    func commit(_ step: Step) {
        for answer in step.preliminary { keep(answer) }
        for answer in step.answered { end(with: answer) }
    }

    /// Drops the answers of a step that was rolled back.
    func rollBack(_ step: Step) {
        for answer in step.preliminary + step.answered { takeBack(answer.key) }
    }
}

/// A digest for the comparison of bodies.
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
