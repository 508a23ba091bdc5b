internal import Feeds
internal import Reactors

/// A part of an action that a Cycler carries out without waiting: from where the action begins or
/// resumes to where it waits or ends.
///
/// Its events are gathered and applied when it is over. If one of them has no JSON, none of them
/// happens.
struct CyclerTurn<State> {
    /// One decision of the turn.
    enum Event {
        case committed(State)
        case emitted([UInt8])
        case note(ActionLogLine.Kind, [UInt8], isOfSuccess: Bool)
        /// A value that has no JSON.
        case refused(ActionRefusal)
    }

    struct End {
        let error: (any Error)?
    }

    /// The action that is carried out; none between turns.
    let action: ActionTag
    /// Nil between turns, and when the events are being applied.
    private var events: [Event]?
    /// The end of an action that has resumed in this turn.
    var end: End?

    private init(_ action: ActionTag, events: [Event]?) {
        self.action = action
        self.events = events
    }

    /// No turn.
    static var none: CyclerTurn { CyclerTurn(.none, events: nil) }

    init(of action: ActionTag) {
        self.init(action, events: [])
    }

    /// Appends an event. False if events are not gathered now.
    mutating func append(_ event: Event) -> Bool {
        events?.append(event) != nil
    }

    /// Stops gathering.
    mutating func removeEvents() -> [Event] {
        defer { events = nil }
        return events ?? []
    }
}
