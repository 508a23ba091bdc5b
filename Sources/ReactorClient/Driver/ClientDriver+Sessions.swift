internal import ClientMachine
internal import Synchronization

extension ClientDriver {
    /// Follows a session, or shares one that is followed in the same way already.
    ///
    /// - Parameter make: makes the shared handle of a session that is not followed yet.
    func follow(
        _ session: SessionName, _ following: Following,
        canShare: (SessionHold) -> Bool, make: () -> SessionHold
    ) throws(ClientFailure) -> SessionHold {
        defer { carryOut() }
        let (earlier, new) = try core.withLock { core throws(ClientFailure) in
            guard !core.isClosing else { throw .closed }
            let earlier = core.sessions[session]?.hold
            if earlier != nil, !core.hasEnded(session) {
                _ = core.decide(.revive(session), at: clock.now)
                return (earlier, nil as SessionHold?)
            }
            let hold = make()
            // Its objects are gone and have not left it yet, or the session has ended.
            if core.sessions[session] != nil { _ = core.decide(.leave(session), at: clock.now) }
            core.savedStates[session] = nil
            core.sessions[session] = FollowedSession(sink: hold.sink, hold: hold)
            _ = core.decide(.follow(session, following), at: clock.now)
            return (earlier, hold)
        }
        if let new { return new }
        // Not under the lock, which the end of a hold needs; nor does one end there.
        guard let earlier, canShare(earlier) else { throw .followedOtherwise(session.text) }
        return earlier
    }

    /// Ends the events of a session for all users of the hold. The sends in its outbox continue.
    func leave(_ hold: SessionHold) async {
        forget(hold.session, hold.sink)
        await hold.sink.finish()
    }

    /// The last object of the program that uses the session is gone.
    func release(_ session: SessionName, _ sink: any SessionSink) {
        forget(session, sink)
        Task { await sink.finish() }
    }

    private func forget(_ session: SessionName, _ sink: any SessionSink) {
        let logs = core.withLock { core -> [LogSink] in
            // Another one may have taken its place.
            guard let followed = core.sessions[session], followed.sink === sink else { return [] }
            core.sessions[session] = nil
            if let saved = followed.saved {
                core.operations.append(.saveState(saved, session, isLast: true))
            }
            if !core.isClosing { _ = core.decide(.leave(session), at: clock.now) }
            return core.takeLogs(of: session)
        }
        // Not under the lock: each closes its connection.
        for log in logs { log.finish() }
        carryOut()
    }

    /// The number of actions of a session that are not done.
    func pending(_ session: SessionName) -> Int {
        core.withLock { $0.machine.status(session).pending }
    }
}

/// The program's objects share it. When the last of them goes, the session is left.
final class SessionHold: Sendable {
    let session: SessionName
    let sink: any SessionSink
    let predicts: Bool
    private let driver: ClientDriver

    init(
        _ session: SessionName, _ sink: any SessionSink, predicts: Bool, _ driver: ClientDriver
    ) {
        self.session = session
        self.sink = sink
        self.predicts = predicts
        self.driver = driver
    }

    deinit { driver.release(session, sink) }
}
