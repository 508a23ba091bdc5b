import Foundation
import JSONCoding
import Testing
import Wire

@testable import ClientMachine

// The vectors that the JavaScript client's tests read, too.

/// Reads a file of `Tests/ClientVectors`.
private func vectors<Vectors: Decodable>(
    _ name: String, as type: Vectors.Type = Vectors.self
) throws -> Vectors {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let file = folder.appendingPathComponent("../ClientVectors/\(name).json")
    return try JSONDecoder().decode(type, from: try Data(contentsOf: file))
}

/// As ``vectors(_:as:)``, with the text of each number.
private func patchVectors() throws -> [JSONValue] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let file = folder.appendingPathComponent("../ClientVectors/patches.json")
    let all = try JSON.decode(JSONValue.self, from: Array(try Data(contentsOf: file)))
    guard case .array(let cases)? = all["cases"] else { return [] }
    return cases
}

private struct StreamVectors: Decodable {
    struct Event: Decodable, Equatable { let name, data, id: String, cause: String? }
    struct Case: Decodable {
        let bytes: Data
        let events: [Event]?
        let id: String
        let retry, limit: Int?
    }
    let cases: [Case]
}

private struct PositionVectors: Decodable {
    struct Vector: Decodable { let entries: [String], text: String }
    let inOrder, otherGeneration, noPositions: [String]
    let vectors: [Vector]
}

private struct WaitVectors: Decodable {
    struct Case: Decodable { let failures: Int, fraction, minimum, wait: Double }
    let cases: [Case]
}

private struct OverlayVectors: Decodable {
    struct Transcript: Decodable { let name: String, steps: [OverlayStep] }
    let transcripts: [Transcript]
}

struct OverlayStep: Decodable {
    let follow, open, cut: Bool?
    let send, answer, refuse, lose, wait: Int?
    let event, position, data, cause: String?
    let version: UInt64?
    let shown, pending: Int?
    let applied, failed: [UInt64]?
}

/// Draws the same fraction of each range.
private struct FixedGenerator: RandomNumberGenerator {
    let fraction: Double
    private var count: UInt64 = 0

    init(fraction: Double) { self.fraction = fraction }

    /// Not the same number for ever: the standard library draws again what would not be uniform.
    mutating func next() -> UInt64 {
        defer { count += 1 }
        return UInt64(fraction * 0x1p64) + count
    }
}

@Suite("Vectors of all clients", .timeLimit(.minutes(60)))
struct VectorTests {
    private func decode(_ one: StreamVectors.Case, cutAt cuts: [Int]) -> [StreamVectors.Event]? {
        var decoder = EventStreamDecoder(
            eventLimitBytes: one.limit ?? 1_000_000, reportsIDs: true)
        var events: [StreamVectors.Event] = []
        let bytes = Array(one.bytes)
        var start = 0
        do {
            for end in cuts + [bytes.count] {
                let part = Array(bytes[start..<end])
                try decoder.receive(part.span) { event in
                    events.append(
                        .init(
                            name: event.name, data: event.data, id: event.lastEventID,
                            cause: event.cause))
                }
                start = end
            }
        } catch {
            return nil
        }
        #expect(decoder.lastEventID == one.id)
        #expect(decoder.retryMilliseconds == one.retry)
        return events
    }

    @Test func `event streams give these events, however they are cut`() throws {
        let cases = try vectors("event-streams", as: StreamVectors.self).cases
        #expect(cases.count > 40)
        for one in cases {
            let text = String(decoding: one.bytes, as: UTF8.self)
            for cut in 0...one.bytes.count {
                #expect(decode(one, cutAt: [cut]) == one.events, "\(text) cut at \(cut)")
            }
        }
    }

    @Test func `positions have one form and one order`() throws {
        let found = try vectors("positions", as: PositionVectors.self)
        for text in found.noPositions { #expect(StreamPosition(text) == nil, "\(text)") }
        let positions = try found.inOrder.map { try #require(StreamPosition($0)) }
        let others = try found.otherGeneration.map { try #require(StreamPosition($0)) }
        for (left, one) in positions.enumerated() {
            #expect(one.text == found.inOrder[left])
            for (right, other) in positions.enumerated() {
                #expect(one.reaches(other) == (left >= right), "\(one.text), \(other.text)")
            }
            for other in others { #expect(!one.reaches(other) && !other.reaches(one)) }
        }
    }

    @Test func `a patch gives this state, or does not apply`() throws {
        let cases = try patchVectors()
        #expect(cases.count > 60)
        for one in cases {
            let texts = try ["state", "patch"].map { name in
                var bytes: [UInt8] = []
                try JSON.encode(try #require(one[name]), into: &bytes)
                return bytes
            }
            let base = EventContent.text(texts[0])
            let found = try? base.patched(by: texts[1])
            #expect(found == one["result"].map(EventContent.value), "\(one)")
        }
    }

    @Test func `a vector has an entry for each session`() throws {
        for one in try vectors("positions", as: PositionVectors.self).vectors {
            let entries = try one.entries.map { text -> VectorEntry in
                switch text {
                case "-": .nothing
                case "x": .over
                default: .position(try #require(StreamPosition(text)))
                }
            }
            #expect(VectorEntry.vector(entries) == one.text)
        }
    }

    @Test func `waits are drawn from these ranges`() throws {
        for one in try vectors("backoff", as: WaitVectors.self).cases {
            var table = AttemptTable(asksForCredentials: false, limits: ClientLimits())
            var generator = FixedGenerator(fraction: one.fraction)
            for _ in 0...one.failures {
                table.retry(
                    .post(room), why: "", atLeast: .milliseconds(one.minimum), at: .seconds(1),
                    using: &generator)
            }
            guard case .waiting(let until, _) = table.phase(of: .post(room)) else {
                Issue.record("nothing waits")
                continue
            }
            let wait = (until - .seconds(1)) / .milliseconds(1)
            #expect(abs(wait - one.wait) < 0.01, "\(one)")
        }
    }

    @Test(arguments: [false, true])
    func `own actions are shown once, whatever comes first`(withPatches: Bool) throws {
        for transcript in try vectors("overlays", as: OverlayVectors.self).transcripts {
            var client = try OverlayClient(withPatches: withPatches)
            for (number, step) in transcript.steps.enumerated() {
                try client.perform(step)
                let name = "\(transcript.name), step \(number)"
                if let shown = step.shown { #expect(client.shown == shown, "\(name)") }
                if let pending = step.pending { #expect(client.pending == pending, "\(name)") }
                if let applied = step.applied { #expect(client.applied == applied, "\(name)") }
                if let failed = step.failed { #expect(client.failed == failed, "\(name)") }
            }
        }
    }
}

/// A client of one session whose state is a number; an action adds its number.
private struct OverlayClient {
    private var client: Client
    private var stream: AttemptID?
    private var keys: [String] = []
    private var attempts: [String: AttemptID] = [:]
    private var state = 0
    private var base = 0
    private var overlay: [OutboxEntry] = []
    private(set) var shown = 0
    private(set) var pending = 0
    private(set) var applied: [UInt64] = []
    private(set) var failed: [UInt64] = []

    private let withPatches: Bool

    init(withPatches: Bool) throws {
        client = try Client()
        self.withPatches = withPatches
    }

    mutating func perform(_ step: OverlayStep) throws {
        if step.follow == true {
            let following = Following(demand: .init(states: true), predicts: true)
            read(client.receive(.follow(room, following)))
            read(client.wait(.milliseconds(50)))
        }
        if step.open == true { read(client.head(stream)) }
        let id = try #require(stream)
        if step.cut == true { read(client.receive(.streamEnded(id, failure: "it was cut"))) }
        if let wait = step.wait { read(client.wait(.milliseconds(wait))) }
        if let number = step.send { read(client.send("\(number)")) }
        if let event = step.event {
            let cause = step.cause.map { name in
                name.hasPrefix("$") ? keys[(Int(name.dropFirst()) ?? 0) - 1] : name
            }
            let isPatch =
                withPatches && event == "state"
                && client.machine.links[room]?.reader.patchBase != nil
            let data = step.data ?? ""
            read(
                client.event(
                    id, isPatch ? "patch" : event, step.position ?? "",
                    isPatch ? #"[{"op":"replace","path":"","value":\#(data)}]"# : data,
                    cause: cause))
        }
        if let number = step.answer {
            let body =
                #"{"position":"\#(step.position ?? "")","version":\#(step.version ?? 0)}"#
            read(try client.answer(attempts[keys[number - 1]], 200, body))
        }
        if let number = step.refuse {
            read(try client.problem(attempts[keys[number - 1]], 422, "not_an_action"))
        }
        if let number = step.lose, let attempt = attempts[keys[number - 1]] {
            read(client.receive(.requestFailed(attempt, "it was lost")))
        }
    }

    private mutating func read(_ outputs: [Output]) {
        if let opened = outputs.streams.last { stream = opened.id }
        for (id, request) in outputs.requests {
            guard let key = request.key else { continue }
            if !keys.contains(key) { keys.append(key) }
            attempts[key] = id
        }
        for delivery in outputs.deliveries { read(delivery) }
    }

    private mutating func read(_ delivery: Delivery) {
        switch delivery {
        case .snapshot(let snapshot): state = snapshot.state.map(number) ?? state
        case .state(let event, isConfirmed: true): state = number(event.data)
        case .status(let status): pending = status.pending
        case .outcome(let ticket, .applied): applied.append(ticket.number)
        case .outcome(let ticket, .refused), .outcome(let ticket, .inDoubt):
            failed.append(ticket.number)
        case .shown(let change):
            if change.advancesBase { base = state }
            overlay.removeAll { change.left.contains($0.ticket) }
            overlay += change.joined
            shown = overlay.flatMap(\.actions).reduce(base) { $0 + number($1) }
        default: break
        }
    }

    private func number(_ json: [UInt8]) -> Int { Int(String(decoding: json, as: UTF8.self)) ?? -1 }
}
