internal import ClientMachine
public import Reactors

extension RemoteLogEntry {
    /// The entry with the types of a reactor, as `ReactorHost.log` has it. Errors are
    /// ``RemoteError``s.
    ///
    /// - Parameter type: the session's reactor; its mutations must be decodable too.
    /// - Throws: `undecodable` if an action, a mutation or an activity does not have its type, or
    ///   the kind is unknown, as those of a Cycler are.
    public func entry<R: Reactor>(
        of type: R.Type = R.self
    ) throws(ClientFailure) -> ActionLogEntry<R>
    where R.Action: Decodable, R.Mutation: Decodable, R.Activity: Decodable {
        ActionLogEntry(
            position: ActionLogPosition(number: position.value.number, part: position.value.part),
            action: action, time: time ?? .zero, event: try event())
    }

    private func event<R: Reactor>() throws(ClientFailure) -> ActionLogEntry<R>.Event
    where R.Action: Decodable, R.Mutation: Decodable, R.Activity: Decodable {
        switch kind {
        case "action.received":
            let content = try content(as: ReceivedContent<R.Action>.self)
            return .received(
                content.received, transformed: content.transformed ?? content.received)
        case "action.rejected":
            return .rejected(try content(as: ReceivedContent<R.Action>.self).received)
        case "action.recorded":
            return .recorded(try content(as: ReceivedContent<R.Action>.self).received)
        case "mutation": return .mutation(try content(), version: version ?? 0)
        case "mutation.dropped":
            let content = try content(as: DroppedMutation<R.Mutation>.self)
            return .droppedMutation(content.mutation, try reason(content.reason))
        case "state.replaced": return .replaced(version: version ?? 0)
        case "activity": return .activity(try content())
        case "activity.dropped":
            return .droppedActivity(try content(as: DroppedActivity<R.Activity>.self).activity)
        default: return try effectEvent()
        }
    }

    private func effectEvent<R: Reactor>() throws(ClientFailure) -> ActionLogEntry<R>.Event {
        typealias Entry = ActionLogEntry<R>
        let content = try content(as: EffectContent.self)
        let step = content.step.map { Entry.Step(number: $0, id: content.effectID) }
        let error = RemoteError(content.error ?? "")
        switch kind {
        case "effect.started": return .effectStarted(try required(step))
        case "effect.ended": return .effectEnded(try required(step))
        case "effect.cancelled": return .effectCancelled(try required(step))
        case "effect.failed": return .effectFailed(step, error)
        case "effect.skipped":
            return .effectSkipped(try required(content.effectID), try reason(content.reason))
        case "timer.set": return .timerSet(try required(content.timer))
        case "timer.fired": return .timerFired(try required(content.timer))
        case "timer.cancelled": return .timerCancelled(try required(content.timer))
        case "source.ended": return .sourceEnded(content.source ?? "")
        case "source.failed": return .sourceFailed(content.source ?? "", error)
        case "hook.failed":
            let place = content.place.flatMap(ReactorFailure.Place.init)
            return .hookFailed(try required(place), error)
        default: throw .undecodable("the entry \(position) has the kind \(kind)")
        }
    }

    private func reason(_ text: String?) throws(ClientFailure) -> DropReason {
        try required(text.flatMap(DropReason.init))
    }

    private func required<Value>(_ value: Value?) throws(ClientFailure) -> Value {
        guard let value else {
            throw .undecodable("the entry \(position) does not have the form of \(kind)")
        }
        return value
    }
}

/// An error of the server's code, of which only the description is known here.
public struct RemoteError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error as the server describes it.
    public let description: String

    init(_ description: String) { self.description = description }
}

private struct ReceivedContent<Action: Decodable>: Decodable {
    let received: Action
    let transformed: Action?
}

private struct DroppedMutation<Mutation: Decodable>: Decodable {
    let mutation: Mutation
    let reason: String
}

private struct DroppedActivity<Activity: Decodable>: Decodable {
    let activity: Activity
}

private struct EffectContent: Decodable {
    let step: UInt64?
    let id: String?
    let name: String?
    let source: String?
    let place: String?
    let reason: String?
    let error: String?

    var effectID: EffectID? { id.map { EffectID($0) } }
    var timer: EffectID? { name.map { EffectID($0) } }
}
