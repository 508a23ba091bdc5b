import Cyclers
import Reactors

/// A logger that writes one line for everything it is told.
final class LogBook: CyclerLogger {
    private(set) var lines: [String] = []
    private(set) var calls: [CyclerCall] = []

    func clear() { lines = [] }

    /// The lines so far, each said once.
    func takeLines() -> [String] {
        defer { lines = [] }
        return lines
    }

    private func note(_ line: String, _ call: CyclerCall? = nil) {
        let number = call?.dispatch.map { " #\($0.number)" } ?? ""
        lines.append(line + number)
        if let call { calls.append(call) }
    }

    func willDispatch(_ call: CyclerCall) { note("willDispatch \(call.name)", call) }

    func didDispatch(_ call: CyclerCall, error: (any Error)?) {
        note("didDispatch \(call.name)" + (error.map { " \($0)" } ?? ""), call)
    }

    func willMutate(_ call: CyclerCall) { note("willMutate \(call.name)", call) }

    func didMutate(_ call: CyclerCall, outcome: CommitOutcome) {
        let text =
            switch outcome {
            case .committed(let version): "v\(version)"
            case .unchanged: "unchanged"
            case .joined: "joined"
            case .failed(let error): "\(error)"
            }
        note("didMutate \(call.name) \(text)", call)
    }

    func didChange<Root, Value>(
        _ value: Value, for path: WritableKeyPath<Root, Value>, root: Root
    ) {
        note("didChange \(value)")
    }

    func didReplace<Root>(root: Root) { note("didReplace") }

    func didEmit<Activity: Sendable>(_ activity: Activity, _ call: CyclerCall) {
        note("didEmit \(activity)", call)
    }

    func didDrop(_ dropped: DroppedCall, _ call: CyclerCall) {
        note("didDrop \(dropped.rawValue)", call)
    }
}
