import Cyclers
import Reactors

/// A logger that writes one line for every event.
final class LineLogger: CyclerLogger {
    private(set) var lines: [String] = []
    private(set) var calls: [CyclerCall] = []

    func clear() { lines = [] }

    /// The lines since the last call.
    func takeLines() -> [String] {
        defer { lines = [] }
        return lines
    }

    private func record(_ line: String, _ call: CyclerCall? = nil) {
        let number = call?.dispatch.map { " #\($0.number)" } ?? ""
        lines.append(line + number)
        if let call { calls.append(call) }
    }

    func willDispatch(_ call: CyclerCall) { record("willDispatch \(call.name)", call) }

    func didDispatch(_ call: CyclerCall, error: (any Error)?) {
        record("didDispatch \(call.name)" + (error.map { " \($0)" } ?? ""), call)
    }

    func willMutate(_ call: CyclerCall) { record("willMutate \(call.name)", call) }

    func didMutate(_ call: CyclerCall, outcome: CommitOutcome) {
        let text =
            switch outcome {
            case .committed(let version): "v\(version)"
            case .unchanged: "unchanged"
            case .joined: "joined"
            case .failed(let error): "\(error)"
            }
        record("didMutate \(call.name) \(text)", call)
    }

    func didChange<Root, Value>(
        _ value: Value, for path: WritableKeyPath<Root, Value>, root: Root
    ) {
        record("didChange \(value)")
    }

    func didReplace<Root>(root: Root) { record("didReplace") }

    func didEmit<Activity: Sendable>(_ activity: Activity, _ call: CyclerCall) {
        record("didEmit \(activity)", call)
    }

    func didDrop(_ dropped: DroppedCall, _ call: CyclerCall) {
        record("didDrop \(dropped.rawValue)", call)
    }
}
