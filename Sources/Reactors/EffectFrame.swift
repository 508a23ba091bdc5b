/// A running `.concat` or `.merge`: its remaining parts, and the frame that waits for it.
final class EffectFrame {
    enum Kind { case concat, merge }

    // Releasing a chain recurses along `parent`; 1000 frames need less than 100 KB of stack.
    static var depthLimit: Int { 1000 }

    let kind: Kind
    let parent: EffectFrame?
    let depth: Int
    // Numbers the parts of a concat, or the branches of a merge.
    let strand: EffectStrand
    private var steps: ArraySlice<EffectPart>

    // Invariant: cancellations up to this count do not reach the remaining steps. Never above the
    // parent's: a cancellation raises it here and in all outer frames.
    var born: UInt64

    // Merge only: the number of its running steps, and whether one failed.
    var running = 0
    var hasFailed = false

    init(
        _ kind: Kind, _ steps: [EffectPart], parent: EffectFrame?, born: UInt64,
        strand: EffectStrand
    ) {
        self.kind = kind
        self.strand = strand
        self.steps = steps[...]
        self.parent = parent
        self.born = born
        depth = (parent?.depth ?? 0) + 1
    }

    var isExhausted: Bool { steps.isEmpty }

    func takeNext() -> EffectPart? { steps.popFirst() }

    func dropRest() { steps = [] }

    // The fields that a turn changes, to roll it back.
    struct Saved {
        fileprivate let steps: ArraySlice<EffectPart>
        fileprivate let born: UInt64
        fileprivate let running: Int
        fileprivate let hasFailed: Bool
        fileprivate let count: Int
    }

    var saved: Saved {
        Saved(
            steps: steps, born: born, running: running, hasFailed: hasFailed, count: strand.count)
    }

    func restore(_ saved: Saved) {
        steps = saved.steps
        born = saved.born
        running = saved.running
        hasFailed = saved.hasFailed
        strand.count = saved.count
    }
}
