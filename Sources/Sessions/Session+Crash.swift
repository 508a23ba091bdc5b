internal import Storage

// Records the work that is being carried out. If the process ends in it, the next start logs it.
extension Session {
    /// Called before the reactor's code is called; ``endWork()`` is called when it has returned.
    func beginWork(_ work: CrashSlot.Work, _ action: UInt64 = 0) {
        let slot = table.crashSlot
        if !slot.names(incarnation) {
            slot.name(id.text, registration.name, owner: incarnation)
        }
        slot.begin(work, action: action)
    }

    func endWork() { table.crashSlot.end() }

    /// Begins the next action of the batch that is being received.
    @usableFromInline
    func beginAction(_ number: UInt64) { beginWork(.action, number) }
}
