package import Feeds
internal import Reactors
internal import Storage

extension Feed {
    /// The presence now, and its newest value whenever it changes, until the stream is released.
    func followPresence() -> (present: Presence, changes: AsyncStream<Presence>) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Presence.self, bufferingPolicy: .bufferingNewest(1))
        followPresence {
            if case .terminated = continuation.yield(Presence($0)) { return false }
            return true
        }
        return (Presence(present), stream)
    }
}

extension Presence {
    init(_ present: PresentReaders) {
        self.init(
            present: present.names?.map(\.text) ?? [], count: present.count,
            others: present.others)
    }
}

extension SessionTable {
    /// Another node sent readers of a session; nil: there are no more.
    package func receivePresence(
        _ present: PresentReaders?, of id: SessionID, from part: PresencePart
    ) {
        (sessions[id]?.feed ?? asleep(id))?.setPresence(present, from: part)
    }

    /// Another node needs the readers here, if there is a presence.
    package func sendPresence(of id: SessionID) {
        (sessions[id]?.feed ?? asleep(id))?.presenceIsWanted()
    }
}
