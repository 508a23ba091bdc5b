/// A session's uncommitted steps, oldest first.
///
/// Why a linked list: a session mostly has one step at a time, and an array would be allocated for
/// each step.
final class StepQueue {
    /// The step that the journal commits next.
    private(set) var first: Step?
    /// The step that collects decisions, or the last one that was submitted. Replies are
    /// attached to it.
    private(set) var last: Step?

    var isEmpty: Bool { first == nil }

    func append(_ step: Step) {
        if let last {
            last.next = step
        } else {
            first = step
        }
        last = step
    }

    /// Removes the step if it is the oldest.
    func remove(_ step: Step) {
        guard first === step else { return }
        first = step.next
        step.next = nil
        if first == nil { last = nil }
    }

    func contains(_ step: Step) -> Bool {
        var next = first
        while let one = next {
            if one === step { return true }
            next = one.next
        }
        return false
    }

    /// Removes the step and all that are newer.
    ///
    /// - Returns: the removed steps, oldest first; empty if the step is not here.
    func removeAll(from step: Step) -> [Step] {
        var before: Step?
        var next = first
        while let one = next, one !== step {
            before = one
            next = one.next
        }
        guard next != nil else { return [] }
        if let before { before.next = nil } else { first = nil }
        last = before
        var removed: [Step] = []
        while let one = next {
            removed.append(one)
            next = one.next
            // The links are cut: a long chain that is released as a whole is released recursively.
            one.next = nil
        }
        return removed
    }
}
