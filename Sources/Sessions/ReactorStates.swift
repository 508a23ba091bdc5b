internal import JSONCoding
internal import Reactors

/// Encodes the states of a reactor's session as clients see them, and as `reduce` made them.
struct ReactorStates<R: Reactor>
where R.Action: Codable, R.Mutation: Codable, R.State: Codable, R.Activity: Encodable {
    let machine: ReactorMachine<R>

    private var core: ReactorCore<R> { machine.core }

    // MARK: States

    /// The state at a kept version as it is shown.
    func shown(at version: UInt64) -> R.State {
        guard version != core.version else { return core.visibleState(observer: machine) }
        if let state = machine.versions.stubState(at: version) { return state }
        let state = own(at: version)
        do {
            return try machine.reactor.transform(state: state)
        } catch {
            // As for the present state: it is shown without its decoration.
            reportUndecorated(version, because: String(describing: error))
            return state
        }
    }

    private func own(at version: UInt64) -> R.State {
        version == core.version
            ? core.state : machine.versions.state(at: version, by: machine.reactor)
    }

    /// Compares the JSON of two states. A state without JSON differs from every other: applying the
    /// element that leads to it reports why.
    static func isSame(_ one: R.State, _ other: R.State) -> Bool {
        var (left, right): ([UInt8], [UInt8]) = ([], [])
        do {
            try JSON.encode(one, into: &left)
            try JSON.encode(other, into: &right)
        } catch {
            return false
        }
        return left == right
    }

    // MARK: Encoding

    /// Appends a state; nil: the present version.
    ///
    /// - Returns: the failure if the state has no JSON; nothing is appended then.
    func encode(
        _ form: StateForm, at version: UInt64?, to out: inout [UInt8]
    ) -> JSONEncodingFailure? {
        switch (form, version) {
        case (.raw, nil): append(core.state, to: &out)
        case (.raw, let version?): append(own(at: version), to: &out)
        case (.shown, nil): encode(core.visibleState(observer: machine), to: &out)
        case (.shown, let version?): encode(shown(at: version), at: version, to: &out)
        }
    }

    /// Appends the present state as it is shown. If its decoration has no JSON, appends the
    /// undecorated state, and records the failure once per version.
    ///
    /// - Returns: the failure if the undecorated state has no JSON either; nothing is
    ///   appended then.
    func encode(_ shown: R.State, to out: inout [UInt8]) -> JSONEncodingFailure? {
        guard let failure = append(shown, to: &out) else { return nil }
        guard !core.isStub, append(core.state, to: &out) == nil else { return failure }
        if core.markTransformFailure() {
            machine.failed(
                ReactorFailure(
                    place: .transformState,
                    error: ActionRefusal.notEncodable("the decorated state", failure),
                    action: .none))
        }
        return nil
    }

    /// As ``encode(_:to:)`` for an old version, but a failure is logged and not recorded.
    private func encode(
        _ shown: R.State, at version: UInt64, to out: inout [UInt8]
    ) -> JSONEncodingFailure? {
        guard let failure = append(shown, to: &out) else { return nil }
        guard append(own(at: version), to: &out) == nil else { return failure }
        reportUndecorated(version, because: "\(ActionRefusal.notEncodable("it", failure))")
        return nil
    }

    private func append(_ state: R.State, to out: inout [UInt8]) -> JSONEncodingFailure? {
        do {
            try JSON.encode(state, into: &out)
            return nil
        } catch {
            return error
        }
    }

    /// Logs that an old version is shown without its decoration, unless this or a newer version was
    /// logged before.
    private func reportUndecorated(_ version: UInt64, because error: String) {
        if let undecorated = machine.undecorated, version <= undecorated { return }
        machine.undecorated = version
        machine.session.report(
            .failed(
                place: "transformState",
                error: "version \(version) is shown undecorated: \(error)"))
    }
}
