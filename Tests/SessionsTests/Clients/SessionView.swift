import Feeds
import JSONCoding

@testable import ClientMachine

/// One followed session of a program: what it shows, and the events that it has received.
struct SessionView {
    var following: Following
    var projection: Projection<Tally.Action, Tally.State>
    /// The place of its last pulse; nil: a snapshot is due first.
    var place: Place? { didSet { if place != nil { wasPlaced = true } } }
    private(set) var wasPlaced = false
    /// The version that is known to be below the shown state.
    var base: (serial: Int, version: Int) = (0, 0)
    /// A hold was given up (R10), so that the shown state need not be exact.
    var isInexact = false
    var hasEnded = false
    var status: LinkStatus?

    struct Place {
        var generation: String
        /// Of the next pulse.
        var index: Int
    }

    init(_ following: Following, place: Place? = nil) {
        self.following = following
        self.place = place
        wasPlaced = place != nil
        // The states of a replay lack what was applied and reported long ago.
        isInexact = following.after != nil
        projection =
            following.predicts ? Projection(predicting: Tally()) : Projection()
    }
}

extension SimulatedClient {
    // MARK: Events

    func receive(_ snapshot: SessionSnapshot, _ session: SessionName) {
        let position = snapshot.position
        guard let log = world.logs.all[position.generation], log.session == session.text,
            let version = log.version(at: position.number)
        else { return blame("a snapshot at \(position.text), which is not committed") }
        if let state = snapshot.state { confirm(state, version, log, session) }
        guard let pulses = snapshot.pulses, views[session]?.following.demand.pulses == .all else {
            return
        }
        if views[session]?.place != nil {
            blame("a snapshot of \(session) at \(position.text) without a reset")
        }
        let text = String(decoding: pulses, as: UTF8.self)
        if text != log.presentPulses(at: version) {
            blame("a snapshot at \(position.text) with \(text)")
        }
        views[session]?.place = SessionView.Place(
            generation: position.generation, index: log.firstPulse(after: position.number))
    }

    func receive(_ event: StreamEvent, isConfirmed: Bool, _ session: SessionName) {
        guard let log = world.logs.all[event.position.generation], log.session == session.text,
            let version = log.version(at: event.position.number)
        else { return blame("a state at \(event.position.text), which is not committed") }
        guard isConfirmed else { return }
        confirm(event.data, version, log, session)
    }

    private func confirm(
        _ state: [UInt8], _ version: Int, _ log: SessionLog, _ session: SessionName
    ) {
        views[session]?.projection.confirm(state)
        let confirmed = views[session]?.projection.confirmed
        let entries = Array(log.entries.prefix(version))
        let third = entries.last { $0.isMultiple(of: 3) } ?? 0
        if confirmed?.entries != entries || confirmed?.last != entries.last ?? 0
            || confirmed?.third != third
        {
            blame(
                "the state of \(session) at version \(version) is \(String(describing: confirmed))")
        }
    }

    func receive(_ event: StreamEvent, _ session: SessionName) {
        // A stream that is shared may have pulses that others want.
        guard event.name != "said", views[session]?.following.demand.pulses != .some(.none) else {
            return
        }
        if views[session]?.place == nil { join(at: event, session) }
        guard let place = views[session]?.place, place.generation == event.position.generation
        else { return blame("\(event.name)@\(event.position.text) continues nothing") }
        let due = world.logs.all[place.generation]?.pulses.dropFirst(place.index).first
        let heard = SessionLog.Event(
            number: event.position.number, name: event.name,
            data: String(decoding: event.data, as: UTF8.self))
        if due != heard { blame("\(heard) in place of \(String(describing: due))") }
        views[session]?.place?.index += 1
    }

    /// A stream without a snapshot begins with some event, or with the first one.
    private func join(at event: StreamEvent, _ session: SessionName) {
        guard let view = views[session], view.place == nil, view.following.start != .present,
            let log = world.logs.all[event.position.generation]
        else { return }
        let first = log.firstPulse(after: event.position.number - 1)
        let isFirstOfRecord = log.pulses.dropFirst(first).first?.name == event.name
        let index = isFirstOfRecord ? first : first + 1
        if view.following.start == .start, !view.wasPlaced, index != 0, world.keepsEverything {
            blame("\(session) begins with \(event.name)@\(event.position.text)")
        }
        views[session]?.place = SessionView.Place(
            generation: event.position.generation, index: index)
    }

    // MARK: The shown state

    /// Oracle 3: the shown state is a committed state with the program's own unconfirmed actions,
    /// each once and in their order.
    func checkShown(_ session: SessionName) {
        if world.holdsEnd,
            machine.links[session]?.overlay.requests.contains(where: { $0.hold != .none }) == true
        {
            // R10: what is shown after a hold that has ended too early is not exact.
            views[session]?.isInexact = true
        }
        guard var view = views[session], view.following.predicts, !view.isInexact,
            world.hasAllCauses,
            let link = machine.links[session], let shown = view.projection.shown?.entries
        else { return }
        if Set(shown).count != shown.count { return blame("\(session) shows \(shown) twice") }
        // A state that is held for ever is exact.
        if link.overlay.isHeld, link.end == nil { return checkHeld(session, shown) }
        for (_, log) in world.logs.lives(of: session.text)
        where log.serial >= view.base.serial {
            let first = log.serial == view.base.serial ? view.base.version : 0
            guard first <= log.entries.count else { continue }
            for version in first...log.entries.count
            where shown == expected(session, log, version) {
                view.base = (log.serial, version)
                views[session] = view
                return
            }
        }
        let log = world.logs.all.values.first { $0.serial == view.base.serial }
        blame("\(session) shows \(shown) after \(view.base) of \(log?.entries ?? [])")
    }

    /// The state of a version with the own actions that it does not contain.
    private func expected(
        _ session: SessionName, _ log: SessionLog, _ version: Int
    ) -> [Int] {
        var entries = Array(log.entries.prefix(version))
        let base = Set(entries)
        for (_, send) in orderedSends
        where send.session == session && send.isAlive && !send.isDeclined {
            if case .applied(let receipt)? = send.end,
                let other = world.logs.all[receipt.position.generation], other.serial < log.serial
            {
                // An earlier life had it.
                continue
            }
            guard base.isDisjoint(with: send.possibleEntries) else { continue }
            for action in send.actions {
                if let action { entries += action.entries(after: entries) }
            }
        }
        return entries
    }

    /// A held state is older; all actions whose end is not known are in it.
    private func checkHeld(_ session: SessionName, _ shown: [Int]) {
        for (ticket, send) in orderedSends
        where send.session == session && send.end == nil && !send.isEnding && !send.isDeclined {
            for action in send.actions.compactMap(\.self) {
                let count = shown.count { action.possibleEntries.contains($0) }
                if count != action.entries(after: []).count {
                    blame("\(session) does not show \(ticket.number), \(send.marks): \(shown)")
                }
            }
        }
    }

    // MARK: At rest

    /// Oracles 4 and 5: nothing is missing.
    func checkRest() {
        for (session, view) in views.sorted(by: { $0.key.text < $1.key.text }) {
            guard view.status == .live else { continue }
            guard let (generation, log) = world.logs.lives(of: session.text).last else {
                blame("\(session) is followed and was never there")
                continue
            }
            if view.following.demand.states {
                let confirmed = view.projection.confirmed?.entries
                if confirmed != log.entries {
                    blame("\(session) is \(confirmed ?? []) at rest, not \(log.entries)")
                }
                let shown = view.projection.shown?.entries
                if shown != log.entries {
                    blame("\(session) shows \(shown ?? []) at rest, not \(log.entries)")
                }
            }
            guard view.following.demand.pulses != .none,
                view.place != nil || view.following.start == .present
            else { continue }
            if view.place?.generation != generation || view.place?.index != log.pulses.count {
                blame("\(session)'s pulses end at \(String(describing: view.place))")
            }
        }
    }
}
