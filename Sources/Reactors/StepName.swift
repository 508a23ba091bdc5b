/// The name of an asynchronous step: unique among all steps of all sessions and processes.
package struct StepName: Sendable {
    private let session: String
    private let action: ActionTag
    private let step: String

    /// - Parameters:
    ///   - session: the id and the generation of the session: `room.k3v9x0ab`.
    ///   - step: the name of the step within its action (``EffectRun/step``).
    package init(session: String, action: ActionTag, step: String) {
        self.session = session
        self.action = action
        self.step = step
    }

    var key: String { "\(session).\(action.number).\(step)" }
}
