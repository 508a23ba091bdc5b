import ClientMachine
import TestRandomness
import Testing

@testable import ReactorClient

func name(_ text: String) throws -> SessionName { try #require(SessionName(text)) }

/// Random changes of an outbox, each of which follows from those before it.
struct OutboxScript {
    private(set) var contents = OutboxContents()
    private var generator: SeededGenerator
    private let sessions: [SessionName]
    private let largestAction: Int

    init(seed: UInt64, largestAction: Int = 60) throws {
        generator = SeededGenerator(seed: seed)
        sessions = try ["a", "b", "session-3"].map(name)
        self.largestAction = largestAction
    }

    /// Some changes that are written together.
    mutating func group() -> [OutboxChange] {
        (0..<Int.random(in: 1...4, using: &generator)).map { _ in next() }
    }

    mutating func state() -> (SessionName, SavedState?) {
        let session = sessions[Int.random(in: 0..<3, using: &generator)]
        let state: SavedState? =
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: nil
            case 1: SavedState(position: StreamPosition("abcd1234", 7, part: 2), state: nil)
            default: SavedState(position: StreamPosition("abcd1234", 9), state: bytes())
            }
        contents.apply(state, of: session)
        return (session, state)
    }

    private mutating func next() -> OutboxChange {
        while true {
            let change = candidate()
            if contents.apply(change) { return change }
        }
    }

    private mutating func candidate() -> OutboxChange {
        let session = sessions[Int.random(in: 0..<3, using: &generator)]
        let lane = contents.outbox[session]
        switch Int.random(in: 0..<9, using: &generator) {
        case 0, 1, 2: return .queued(entry(session))
        case 3:
            let count = Int.random(in: 0...lane.queued.count, using: &generator)
            return .sent(
                session, RequestKey(using: &generator), body: bytes(), count: count,
                date: Int64.random(in: -5...5_000_000_000, using: &generator))
        case 4: if let sent = lane.sent { return .done(session, sent.key) }
        case 5: if let sent = lane.sent { return .withdrawn(session, sent.key) }
        case 6:
            if let entry = lane.entries.randomElement(using: &generator) { return end(entry) }
        case 7:
            let tickets = contents.outbox.settlements.keys.sorted()
            if let ticket = tickets.randomElement(using: &generator) { return .seen(ticket) }
        default:
            if let entry = lane.queued.randomElement(using: &generator) {
                return .discarded(entry.ticket, session)
            }
        }
        return .queued(entry(session))
    }

    private mutating func entry(_ session: SessionName) -> OutboxEntry {
        let isCareful = Int.random(in: 0..<4, using: &generator) == 0
        let gap = UInt64.random(in: 0...3, using: &generator)
        return OutboxEntry(
            ticket: TicketNumber(contents.outbox.nextTicket.number + gap), session: session,
            actions: (0..<Int.random(in: 1...3, using: &generator)).map { _ in bytes() },
            options: SendOptions(
                expects: isCareful ? StreamPosition("k3v9x0qa", 17, part: 3) : nil,
                settledMilliseconds: isCareful ? 1_500 : nil),
            makes: [
                nil, "a reactor\nwith ü",
                SessionMaking("auction", input: Array(#"{"lot":"ü\n"}"#.utf8)),
            ].randomElement(using: &generator) ?? nil)
    }

    private mutating func end(_ entry: OutboxEntry) -> OutboxChange {
        let problem = MachineProblem(status: 422, code: "", detail: "line\nand \u{0} and ü")
        return .settled(
            Settlement(
                ticket: entry.ticket, session: entry.session,
                outcome: Bool.random(using: &generator) ? .inDoubt : .refused(problem)))
    }

    /// Any text: an outbox does not look into actions.
    private mutating func bytes() -> [UInt8] {
        let count = Int.random(in: 0...largestAction, using: &generator)
        let characters: [Character] = [
            "a", "\"", "\\", "\n", "\r\n", "\u{0}", "ü", "u\u{308}", "漢", "🙂", "/", "\u{7f}",
            "\u{85}",
            "\u{2028}", "\u{2029}", "\u{feff}",
        ]
        return (0..<count).reduce(into: "") { text, _ in
            text.append(characters.randomElement(using: &generator) ?? "a")
        }.utf8.map { $0 }
    }
}
