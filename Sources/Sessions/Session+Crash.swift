internal import Storage

// Notes what is being carried out, for the log of the next start should the process end in it.
extension Session {
    /// The reactor's code is called next; ``ends()`` when it has returned.
    func begins(_ work: CrashSlot.Work, _ action: UInt64 = 0) {
        let slot = table.crashSlot
        if !slot.names(incarnation) {
            slot.name(id.text, registration.name, owner: incarnation)
        }
        slot.begin(work, action: action)
    }

    func ends() { table.crashSlot.end() }

    /// The next action of those that are being received.
    @usableFromInline
    func begins(nextAction number: UInt64) { begins(.action, number) }
}
