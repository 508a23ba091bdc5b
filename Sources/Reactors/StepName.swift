/// The name of an asynchronous step that no other step has, in any session and process.
package struct StepName: Sendable {
    private let session: String
    private let action: ActionTag
    private let step: String

    /// - Parameters:
    ///   - session: the name of the session and its generation, `room.k3v9x0ab`.
    ///   - step: ``EffectRun/step``.
    package init(session: String, action: ActionTag, step: String) {
        self.session = session
        self.action = action
        self.step = step
    }

    var key: String { "\(session).\(action.number).\(step)" }
}
