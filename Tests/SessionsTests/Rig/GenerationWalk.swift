import Feeds
import Sessions
import Storage

/// The way of one connection of a reader through the generations of a session.
struct GenerationWalk {
    private let selection: Selection
    /// The position of the last event; nil: it has none yet.
    private var place: Position?
    /// The data of a `reset` that has no position of its own.
    private var reset: String?

    /// - Parameter after: The id with which the connection resumes.
    init(after: String?, _ selection: Selection) {
        self.selection = selection
        place = after.flatMap { Position($0) }
    }

    /// Whether the event is a `reset` without a position: the id is that of the event before.
    mutating func skips(_ heard: Heard) -> Bool {
        guard heard.name == "reset" else { return false }
        reset = heard.data
        return selection.hasSnapshot
    }

    /// - Parameter truth: Of the generation of the event's id.
    /// - Returns: why the event may not follow the ones before.
    mutating func follow(_ heard: Heard, _ truth: Truth) -> String? {
        guard let position = Position(heard.id) else { return "\(heard) has no position" }
        defer {
            place = position
            reset = nil
        }
        if let place, let fault = wrongReset(place, position) {
            return "\(heard) after \(place.text): \(fault)"
        }
        guard heard.name != "reset", heard.name != "snapshot" else { return nil }
        return gap(before: heard, at: position, truth)
    }

    private func wrongReset(_ place: Position, _ position: Position) -> String? {
        let isOther = place.generation != position.generation
        switch reset {
        case nil: return isOther ? "no reset" : nil
        case #"{"reason":"generation"}"#: return isOther ? nil : "a reset of the generation"
        default: return isOther ? "a reset for another reason" : nil
        }
    }

    /// Every event of the history follows the one before.
    private func gap(before heard: Heard, at position: Position, _ truth: Truth) -> String? {
        let all = truth.events(selection)
        guard let index = all.firstIndex(of: heard) else { return "\(heard) was never to be heard" }
        guard reset == nil, let place, place.generation == position.generation else { return nil }
        guard place.inHistory < position.inHistory else {
            return "\(heard) again after \(place.text)"
        }
        guard index > 0, let before = Position(all[index - 1].id), before.inHistory.part == 0,
            place.inHistory < before.inHistory
        else { return nil }
        return "\(heard) after \(place.text), without \(before.text)"
    }
}
