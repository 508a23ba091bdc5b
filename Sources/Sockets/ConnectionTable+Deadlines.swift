extension ConnectionTable {
    /// Sets, moves or (nil) clears the connection's deadline. `deadlineReached` is called up to 150
    /// ms late, never early. Moving it later, the common case, costs one store.
    package func setDeadline(_ connection: ConnectionID, _ instant: LoopInstant?) {
        guard let index = usable(connection) else { return }
        deadlines.set(slot: index, instant)
        if instant != nil { askForRound() }
    }

    /// Sets, moves or (nil) clears a timer of the loop. `timerReached` is called up to 20 ms late,
    /// never early. For a few timers per loop; each token costs a table entry.
    package func setTimer(token: UInt64, at instant: LoopInstant?) {
        deadlines.set(token: token, instant)
        if instant != nil { askForRound() }
    }
}
