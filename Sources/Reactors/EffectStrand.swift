/// Names the steps of an effect. If an action runs again and returns the same effect, each step
/// gets the same name.
///
/// Why an action does not have one count: the order in which the branches of a `.merge` continue
/// depends on when their steps end. So each branch is a strand with its own count. Its name is the
/// name of the merge and the place of the branch in it.
final class EffectStrand {
    private let name: String
    var count = 0

    init(_ name: String = "") { self.name = name }

    /// The name of the next step or merge. Example: `2` is the second in the effect. If it is a
    /// merge, `2.1.3` is the third step in its first branch.
    func next() -> String {
        count += 1
        return name.isEmpty ? "\(count)" : "\(name).\(count)"
    }
}
