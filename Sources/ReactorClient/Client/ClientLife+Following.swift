internal import ClientMachine
internal import JSONCoding
internal import Reactors

extension ClientLife {
    func reactor<R: Reactor>(
        _ id: String, of making: SessionMaking?, _ instance: sending R?, from start: SessionStart
    ) async throws(ClientFailure) -> RemoteReactor<R>
    where R.Action: Codable, R.State: Codable, R.Activity: Codable {
        guard let instance else {
            return RemoteReactor(
                try await follow(id, of: making, Projection(), predicts: false, from: start))
        }
        return RemoteReactor(
            try await follow(
                id, of: making, Projection(predicting: instance), predicts: true, from: start))
    }

    func follow<Action, State, Activity>(
        _ id: String, of making: SessionMaking?, _ projection: sending Projection<Action, State>,
        predicts: Bool, from start: SessionStart
    ) async throws(ClientFailure) -> RemoteSession<Action, State, Activity> {
        guard let name = SessionName(id) else { throw .badSessionID(id) }
        let core = SessionCore<Action, State, Activity>(
            projection, keepsEvents: start != .present, clock: driver.clock)
        let following = Following(
            start, makes: making, predicts: predicts,
            saved: driver.savedState(of: name).map { $0.checked(State.self) })
        let hold = try driver.follow(name, following) { hold in
            hold.predicts == predicts && hold.sink is SessionCore<Action, State, Activity>
        } make: {
            SessionHold(name, core, predicts: predicts, driver)
        }
        guard let shared = hold.sink as? SessionCore<Action, State, Activity> else {
            throw .followedOtherwise(id)
        }
        // A refused session may have been tried again meanwhile.
        if shared !== core { await driver.catchUp() }
        let readiness = await shared.readiness()
        switch await readiness.first() {
        case .ready?: return RemoteSession(shared, hold, self, reactor: making?.reactor)
        case .failed(let failure)?: throw failure
        case nil: throw .unreachable("the task that waits for the session was cancelled")
        }
    }
}

extension SessionMaking {
    /// - Throws: `undecodable` if the input cannot be encoded as JSON.
    init(_ reactor: String, encoding input: (any Encodable)?) throws(ClientFailure) {
        guard let input else {
            self.init(reactor)
            return
        }
        var bytes: [UInt8] = []
        do throws(JSONEncodingFailure) {
            try JSON.encode(input, into: &bytes)
        } catch {
            throw .undecodable("the input can't be encoded: \(error)")
        }
        self.init(reactor, input: bytes)
    }
}

extension SavedState {
    /// Without the state if this program cannot decode it, so that it is as if it had none.
    fileprivate func checked<State: Decodable>(_ type: State.Type) -> SavedState {
        guard let state, (try? JSON.decode(type, from: state)) != nil else {
            return SavedState(position: position, state: nil)
        }
        return self
    }
}

extension Following {
    /// Everything: a later reader would miss what happens while the stream changes.
    ///
    /// - Parameter saved: the state that an earlier life of the program has saved.
    init(_ start: SessionStart, makes making: SessionMaking?, predicts: Bool, saved: SavedState?) {
        self.init(
            demand: Demand(states: true, pulses: .all, activities: true), makes: making,
            predicts: predicts)
        switch start {
        case .present: self.saved = saved
        case .saved:
            self.saved = saved
            after = saved?.position
        case .now: self.start = .now
        case .start: self.start = .start
        case .after(let position): after = position.value
        }
    }
}
