import Cyclers
import Reactors
import TestStreams
import Testing

@Suite(
    "All loggers get all lines in one order; a slow reader of the log delays nobody",
    .timeLimit(.minutes(60)))
struct LoggerTests {
    /// Writes into a log that several loggers share.
    private final class Named: CyclerLogger {
        private let name: String
        private let write: (String) -> Void

        init(_ name: String, _ write: @escaping (String) -> Void) {
            self.name = name
            self.write = write
        }

        func willMutate(_ call: CyclerCall) { write("\(name) will") }
        func didMutate(_ call: CyclerCall, outcome: CommitOutcome) { write("\(name) did") }
    }

    private let tally = Tally()

    @Test func `case 132: two loggers get all lines in the same order`() {
        let (first, second) = (LineLogger(), LineLogger())
        tally.add(logger: first)
        tally.add(logger: second)
        tally.dispatch("one") { _ in
            tally.add(1)
            tally.emit("x")
        }
        tally.state.add { if $0.a == 2 { tally.add(1) } }
        tally.add(1)
        #expect(first.lines == second.lines)
        #expect(first.lines.count == 12)
    }

    @Test func `case 132: each line reaches the loggers in the order in which they were added`() {
        var lines: [String] = []
        tally.add(logger: Named("first") { lines.append($0) })
        tally.add(logger: Named("second") { lines.append($0) })
        tally.add(1)
        #expect(lines == ["first will", "second will", "first did", "second did"])
    }

    @Test func `case 132: replacing a logger is explicit and keeps its position`() {
        var lines: [String] = []
        let token = tally.add(logger: Named("first") { lines.append($0) })
        tally.add(logger: Named("second") { lines.append($0) })
        #expect(tally.replace(logger: token, with: Named("other") { lines.append($0) }))
        tally.add(1)
        #expect(lines == ["other will", "second will", "other did", "second did"])
        tally.remove(logger: token)
        tally.remove(logger: token)
        #expect(!tally.replace(logger: token, with: LineLogger()))
        lines = []
        tally.add(1)
        #expect(lines == ["second will", "second did"])
    }

    @Test func `case 132: a slow log reader delays nobody, and its losses are counted`()
        async throws
    {
        var slow = Reading(tally.log(buffer: 4))
        var quick = Reading(tally.log())
        tally.add(1)
        tally.add(1)
        #expect(tally.version == 2)
        #expect(
            try await slow.next(4).map(\.text) == [
                "willMutate add", #"didChange \State.a 1"#, "didMutate add 1", "willMutate add",
            ])
        await #expect(throws: ReaderTooSlow.self) { try await slow.next(1) }
        #expect(try await quick.next(6).last?.text == "didMutate add 2")
    }

    @Test func `the log has a line for each kind of event`() async throws {
        var log = Reading(tally.log())
        let context = tally.dispatch("d") { $0 }
        context.commit("c") { $0.replace(Tally.State(a: 1)) }
        context.emit("e")
        context.complete()
        context.emit("late")
        #expect(
            try await log.next(7).map(\.text) == [
                "willDispatch d", "willMutate c",
                "didReplace State(a: 1, b: 0, name: nil, steps: [])", "didMutate c 1", "didEmit e",
                "didDispatch d", "didDrop emission",
            ])
    }

    @Test func `a logger with Cycler's own signatures receives every event`() {
        let logger = CyclersOwnLogger()
        tally.set(logger: logger)
        tally.dispatch("act", "why") { context in
            context.commit("change", "what") { $0.update(1, \.a) }
            context.commit("replace") { $0.replace(Tally.State(b: 2)) }
            context.emit("done")
        }
        #expect(
            logger.lines == [
                "willDispatch act why", "willMutate change what", "didChange 1 true 1",
                "didMutate change what", "willMutate replace ", "didReplace 2",
                "didMutate replace ", "didEmit done", "didDispatch act why",
            ])
        #expect(logger.files == ["CyclersTests/LoggerTests.swift"])
    }

    @Test func `a logger with both forms receives an event once, in the newer form`() {
        final class Both: CyclerLogger {
            var lines: [String] = []
            func didReplace<Root>(root: Root) { lines.append("newer") }
            func didReplace(root: Any) { lines.append("Cycler's") }
            func willMutate(_ call: CyclerCall) { lines.append("newer") }
            func willMutate(
                name: String, description: String, file: StaticString, function: StaticString,
                line: UInt
            ) { lines.append("Cycler's") }
        }
        let logger = Both()
        tally.add(logger: logger)
        tally.commit { $0.replace(Tally.State()) }
        #expect(logger.lines == ["newer", "newer"])
    }

    @Test func `a reader that left the log costs nothing`() {
        var reader: ReactorStream<CyclerLogEntry>? = tally.log()
        #expect(tally.state.isLogged)
        tally.add(1)
        #expect(tally.state.isLogged)
        _ = reader
        reader = nil
        tally.add(1)
        #expect(!tally.state.isLogged)
    }
}

extension CyclerLogEntry {
    fileprivate var text: String {
        let name = call?.name ?? ""
        return switch event {
        case .willDispatch: "willDispatch \(name)"
        case .didDispatch: "didDispatch \(name)"
        case .willMutate: "willMutate \(name)"
        case .didMutate(.committed(let version)): "didMutate \(name) \(version)"
        case .didMutate(let outcome): "didMutate \(name) \(outcome)"
        case .didChange(let path, let value): "didChange \(path) \(value)"
        case .didReplace(let value): "didReplace \(value)"
        case .didEmit(let activity): "didEmit \(activity)"
        case .didDrop(let dropped): "didDrop \(dropped.rawValue)"
        }
    }
}

/// The logger of Cycler's README without `on cycler:`.
private final class CyclersOwnLogger: CyclerLogger {
    private(set) var lines: [String] = []
    private(set) var files: Set<String> = []

    func didChange(value: Any, for keyPath: AnyKeyPath, root: Any) {
        let isA = keyPath == \Tally.State.a
        lines.append("didChange \(value) \(isA) \((root as? Tally.State)?.a ?? -1)")
    }

    func didReplace(root: Any) {
        lines.append("didReplace \((root as? Tally.State)?.b ?? -1)")
    }

    func didEmit(activity: Any, file: StaticString, function: StaticString, line: UInt) {
        lines.append("didEmit \(activity)")
        files.insert("\(file)")
    }

    func willDispatch(
        name: String, description: String, file: StaticString, function: StaticString, line: UInt
    ) {
        lines.append("willDispatch \(name) \(description)")
        files.insert("\(file)")
    }

    func didDispatch(
        name: String, description: String, file: StaticString, function: StaticString, line: UInt
    ) {
        lines.append("didDispatch \(name) \(description)")
        files.insert("\(file)")
    }

    func willMutate(
        name: String, description: String, file: StaticString, function: StaticString, line: UInt
    ) {
        lines.append("willMutate \(name) \(description)")
        files.insert("\(file)")
    }

    func didMutate(
        name: String, description: String, file: StaticString, function: StaticString, line: UInt
    ) {
        lines.append("didMutate \(name) \(description)")
        files.insert("\(file)")
    }
}
