extension ConnectionTable {
    /// Sets, moves or (nil) clears the connection's one deadline, after which `deadlineReached` is
    /// called, never early and up to 150 ms late. Costs a store when it moves later, which is the
    /// common case.
    package func setDeadline(_ connection: ConnectionID, _ instant: LoopInstant?) {
        guard let index = usable(connection) else { return }
        deadlines.set(slot: index, instant)
        if instant != nil { askForRound() }
    }

    /// Sets, moves or (nil) clears a timer of the loop, after which `timerReached` is called, never
    /// early and up to 150 ms late. Meant for a few per loop; each token that is set costs a table
    /// entry.
    package func setTimer(token: UInt64, at instant: LoopInstant?) {
        deadlines.set(token: token, instant)
        if instant != nil { askForRound() }
    }
}
