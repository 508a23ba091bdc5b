internal import Feeds
public import Reactors

// Turns the core's reports for the action log into notes.
extension ReactorMachine {
    /// - Parameter isUnchanged: both values are the same bit for bit, and so are their encodings.
    ///   If they differ, even in padding, the encodings are compared.
    @usableFromInline
    func enterAccepted(
        _ action: R.Action, as transformed: R.Action, isUnchanged: Bool, _ tag: ActionTag
    ) {
        session.enterReceived(.actionReceived, action, of: tag) { out in
            if !isUnchanged { appendDifference(of: transformed, from: action, to: &out) }
        }
    }

    private func appendDifference(
        of transformed: R.Action, from action: R.Action, to out: inout [UInt8]
    ) {
        var (before, after): ([UInt8], [UInt8]) = ([], [])
        session.append(action, "an action", to: &before)
        session.append(transformed, "an action", to: &after)
        guard before != after else { return }
        out.append(contentsOf: ",\"transformed\":".utf8)
        out.append(contentsOf: after)
    }

    /// A hook returned nil, or failed; a failure has its own record.
    @usableFromInline
    func enterRejected(_ action: R.Action, _ tag: ActionTag) {
        session.enterReceived(.actionRejected, action, of: tag)
    }

    @usableFromInline
    func skipped(_ effectID: EffectID, action: ActionTag, because reason: DropReason) {
        log.skipped(effectID, because: reason, of: action)
    }

    @usableFromInline
    func sourceEnded(_ name: String) { session.enterEnd(ofSource: name) }

    @usableFromInline
    func dropped(_ mutation: R.Mutation, by action: ActionTag, because reason: DropReason) {
        log.dropped(mutation: mutation, because: reason, of: action)
    }

    @usableFromInline
    func dropped(_ activity: R.Activity, by action: ActionTag) {
        log.dropped(activity: activity, of: action)
    }
}
