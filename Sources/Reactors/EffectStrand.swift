/// Numbers the steps of a sequence of parts, so that a step has the same name each time that its
/// action is carried out with the same effect.
///
/// Why not one count for an action: the branches of a `.merge` continue in the order in which their
/// steps end. So each branch is a strand of its own, named after the merge and its place there.
final class EffectStrand {
    private let name: String
    var count = 0

    init(_ name: String = "") { self.name = name }

    /// The name of the next step or merge: `2`, or `2.1.3` for the third of the first branch of the
    /// merge that is second in its effect.
    func next() -> String {
        count += 1
        return name.isEmpty ? "\(count)" : "\(name).\(count)"
    }
}
