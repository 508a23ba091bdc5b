import Feeds
import Sessions
import Storage
import Testing

// Streams of several sessions.
extension WholeLife {
    func streamSessions(_ id: String) {
        guard joints.count < 4 else { return cutJoint() }
        var names = [id]
        for _ in 0..<Int.random(in: 0...3, using: &generator) {
            let other = anyID()
            if !names.contains(other) { names.append(other) }
        }
        // Also one that is never created.
        if chance(1, in: 5) { names.append("nobody") }
        let selections: [Selection] = [
            .everything, .allPulses, .allStates, Selection(pulses: .max, activities: true),
        ]
        let selection = selections.randomElement(using: &generator) ?? .everything
        joints.append(
            JointReader(
                names.shuffled(using: &generator), selection,
                presence: ReaderPresence(name: nil, getsEvents: true)))
        connect(joints[joints.count - 1])
    }

    /// A connection ends, perhaps within an event, and the client continues with its id.
    func cutJoint() {
        if let joint = joints.randomElement(using: &generator) { connect(joint) }
    }

    func connect(_ joint: JointReader) {
        let starts: [SubscriptionRequest.Start] = [.now, .snapshot, .start]
        joint.connect(
            rig, from: starts.randomElement(using: &generator) ?? .now, capacity: capacity())
    }

    /// Every connection accepts everything, and is as good as new.
    func settleJoints() {
        for joint in joints {
            joint.last?.setCapacity(nil)
            if joint.last?.howItEnded == .cut { connect(joint) }
            joint.last?.stream.retry()
        }
    }

    // MARK: The oracle

    /// Each session of a stream sends what it sends on its own stream, and the vectors are right.
    func checkJoints() {
        for joint in joints {
            let readers = joint.readers(rig) { blame($0) }
            for (session, reader) in zip(joint.sessions, readers) {
                check(reader, of: session.text, on: joint)
            }
            for block in joint.connections.flatMap(\.blocks) { checkEnd(block) }
            for connection in joint.connections where connection.stream.heldBytes > 400_000 {
                blame("a stream holds \(connection.stream.heldBytes) bytes")
            }
        }
    }

    private func check(_ reader: Reader, of id: String, on joint: JointReader) {
        guard !stubbed.contains(id), reactors[id] == "ledger" else { return }
        let records = rig.journal.all.filter { $0.session == id }
        guard let key = records.last?.key, let truth = truth(of: key) else { return }
        // A reader of several generations got a reset; the model has one generation.
        guard Set(everything.filter { $0.session == id }.map(\.generation)).count == 1 else {
            return checkGenerations(reader, of: id)
        }
        let isOver = joint.connections.contains { connection in
            connection.blocks.contains { $0.name == "\(id)/end" }
        }
        if !isOver, records.contains(where: { $0.kind == .deleted }) {
            blame("\(id)'s reader of several waits for ever")
        }
        reader.check(
            rig, against: truth, "seed \(seed), \(id) among several", isOver: isOver)
    }

    /// A session is deleted only if its end was committed.
    private func checkEnd(_ block: JointBlock) {
        guard let session = block.session, block.data == #"{"reason":"deleted"}"# else { return }
        let isDeleted = everything.contains { $0.kind == .deleted && $0.session == session }
        if !isDeleted { blame("\(block) of a session that lives") }
    }
}
