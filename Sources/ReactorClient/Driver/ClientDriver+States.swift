internal import ClientMachine
internal import Synchronization

// States that outlive the program: the machine says when the newest state can be saved, this has
// its bytes, and the outbox writes them when it is time.

extension ClientDriver {
    /// The state of a session that an earlier life of the program has saved, until the
    /// session is followed.
    func savedState(of session: SessionName) -> SavedState? {
        core.withLock { $0.savedStates[session] }
    }

    /// Holds the newest confirmed state of a session, until the machine says that it can be saved.
    func remember(
        _ deliveries: [Delivery], of session: SessionName, _ sink: (any SessionSink)?
    ) {
        var newest: [UInt8]?
        var hasEnded = false
        for delivery in deliveries {
            switch delivery {
            case .snapshot(let snapshot): newest = snapshot.state ?? newest
            case .state(let event, isConfirmed: true): newest = event.data
            case .ended: hasEnded = true
            default: break
            }
        }
        guard newest != nil || hasEnded else { return }
        core.withLock { core in
            // Of a session that is over nothing is to be shown.
            if hasEnded { core.operations.append(.saveState(nil, session, isLast: true)) }
            guard core.sessions[session]?.sink === sink else { return }
            if let newest { core.sessions[session]?.newestState = newest }
            if hasEnded {
                core.sessions[session]?.newestState = nil
                core.sessions[session]?.saved = nil
            }
        }
    }

    /// Gives the newest state to the outbox, after the changes that were decided before.
    func keepState(
        of session: SessionName, _ sink: (any SessionSink)?, at position: StreamPosition
    ) {
        core.withLock { core in
            guard let followed = core.sessions[session], followed.sink === sink,
                let state = followed.newestState
            else { return }
            let saved = SavedState(position: position, state: state)
            core.sessions[session]?.saved = saved
            // Appended under the lock, so that it comes after the changes that led to this state.
            // If the session is left at this moment, it saves no older state after this one.
            core.operations.append(.saveState(saved, session, isLast: false))
        }
    }
}
