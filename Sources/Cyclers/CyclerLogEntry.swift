internal import Reactors

/// One line of a cycler's log, as delivered by ``Cycler/log(buffer:)``.
///
/// Values are texts, made by `String(describing:)`: entries are sent to other isolations, and
/// values of key paths need not be `Sendable`.
public struct CyclerLogEntry: Sendable {
    /// The event.
    public enum Event: Sendable {
        /// An action began.
        case willDispatch
        /// An action is complete; the error is the one thrown by its closure.
        case didDispatch(error: (any Error)?)
        /// A commit began.
        case willMutate
        /// A commit ended.
        case didMutate(CommitOutcome)
        /// A key path was written: `\State.count`, `3`.
        case didChange(path: String, value: String)
        /// The whole value was replaced, or a batch of updates has ended.
        case didReplace(value: String)
        /// An activity was emitted.
        case didEmit(activity: String)
        /// A call was dropped; see ``DroppedCall``.
        case didDrop(DroppedCall)
    }

    /// The event.
    public let event: Event

    /// The source location; `nil` for changes, which belong to the surrounding commit.
    public let call: CyclerCall?
}

/// A logger that feeds a stream, whose reader may be slow.
final class StreamLogger: CyclerLogger {
    let departure = Departure()
    private let feed: ReactorStream<CyclerLogEntry>.Feed

    init(_ feed: ReactorStream<CyclerLogEntry>.Feed) {
        self.feed = feed
        let departure = departure
        feed.whenAbandoned { departure.markLeft() }
    }

    func finish() { feed.finish() }

    private func push(_ event: CyclerLogEntry.Event, _ call: CyclerCall? = nil) {
        guard !departure.hasLeft else { return }
        if !feed.push(CyclerLogEntry(event: event, call: call)) { departure.markLeft() }
    }

    func willDispatch(_ call: CyclerCall) { push(.willDispatch, call) }

    func didDispatch(_ call: CyclerCall, error: (any Error)?) {
        push(.didDispatch(error: error), call)
    }

    func willMutate(_ call: CyclerCall) { push(.willMutate, call) }

    func didMutate(_ call: CyclerCall, outcome: CommitOutcome) { push(.didMutate(outcome), call) }

    func didChange<Root, Value>(
        _ value: Value, for path: WritableKeyPath<Root, Value>, root: Root
    ) {
        guard !departure.hasLeft else { return }
        push(.didChange(path: String(describing: path), value: String(describing: value)))
    }

    func didReplace<Root>(root: Root) {
        guard !departure.hasLeft else { return }
        push(.didReplace(value: String(describing: root)))
    }

    func didEmit<Activity: Sendable>(_ activity: Activity, _ call: CyclerCall) {
        guard !departure.hasLeft else { return }
        push(.didEmit(activity: String(describing: activity)), call)
    }

    func didDrop(_ dropped: DroppedCall, _ call: CyclerCall) { push(.didDrop(dropped), call) }
}
