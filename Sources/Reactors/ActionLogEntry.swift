/// The position of an entry in its session's action log.
///
/// Mutations, activities and failures are *records* and are numbered from 1, with ``part`` 0. Every
/// other entry precedes the next record: it has that record's number, and a part counted from 1. So
/// the numbers of records are the same with and without a reader of the log.
public struct ActionLogPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The record's number, or that of the next record.
    public let number: UInt64

    /// 0 for a record; otherwise the index among the entries before it.
    public let part: UInt32

    package init(number: UInt64, part: UInt32 = 0) {
        self.number = number
        self.part = part
    }

    /// Whether `left` precedes `right`.
    public static func < (left: ActionLogPosition, right: ActionLogPosition) -> Bool {
        guard left.number == right.number else { return left.number < right.number }
        guard left.part != 0, right.part != 0 else { return left.part > right.part }
        return left.part < right.part
    }

    /// `12` for a record, `12.1` for an entry before it.
    public var description: String { part == 0 ? "\(number)" : "\(number).\(part)" }
}

/// An event in a session: an entry of its action log.
public struct ActionLogEntry<R: Reactor>: Sendable {
    /// An asynchronous step of an effect.
    public struct Step: Hashable, Sendable {
        /// The number of the step in the session, from 1; the same at its start and its end.
        public let number: UInt64

        /// The name that the reactor gave it, if any.
        public let id: EffectID?

        package init(number: UInt64, id: EffectID?) {
            self.number = number
            self.id = id
        }
    }

    /// The events. The first word of each comment is the event's name in `GET …/log`.
    public enum Event: Sendable {
        /// `action.received`: the action was accepted; also the result of `transform(action:)`.
        case received(R.Action, transformed: R.Action)
        /// `action.rejected`: `transform(action:)` rejected the action or failed.
        case rejected(R.Action)
        /// `action.recorded`: a stub recorded the action, without any effect.
        case recorded(R.Action)
        /// `mutation`: a record; the reduced mutation, as returned by `transform(mutation:)`, and
        /// its version.
        case mutation(R.Mutation, version: UInt64)
        /// `activity`: a record.
        case activity(R.Activity)
        /// `effect.started`.
        case effectStarted(Step)
        /// `effect.ended`: the step ended by itself and without a failure.
        case effectEnded(Step)
        /// `effect.cancelled`.
        case effectCancelled(Step)
        /// `effect.failed`: a record; without a step if the synchronous part of an effect failed.
        case effectFailed(Step?, any Error)
        /// `effect.skipped`: the step did not begin.
        case effectSkipped(EffectID, DropReason)
        /// `timer.set`: a timer was set, or set again.
        case timerSet(EffectID)
        /// `timer.fired`: the session receives the timer's action, and the timer is gone.
        case timerFired(EffectID)
        /// `timer.cancelled`.
        case timerCancelled(EffectID)
        /// `source.ended`: the source ended without a failure.
        case sourceEnded(String)
        /// `source.failed`: a record.
        case sourceFailed(String, any Error)
        /// `hook.failed`: a record; one of the three `transform`s threw.
        case hookFailed(ReactorFailure.Place, any Error)
        /// `mutation.dropped`: the mutation was not reduced.
        case droppedMutation(R.Mutation, DropReason)
        /// `activity.dropped`: the activity's step had ended.
        case droppedActivity(R.Activity)
        /// `state.replaced`: a stub shows another state, or the session shows its own again.
        case replaced(version: UInt64)
    }

    /// The position of the entry.
    public let position: ActionLogPosition

    /// The number of the action that caused the event, from 1 within the session; 0 if none did.
    public let action: UInt64

    /// The time returned by the host's `now`.
    public let time: Duration

    /// The event.
    public let event: Event

    package init(
        position: ActionLogPosition, action: UInt64, time: Duration, event: Event
    ) {
        self.position = position
        self.action = action
        self.time = time
        self.event = event
    }
}
