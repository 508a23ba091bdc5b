import TestRandomness
import Testing

@testable import ClientMachine

@Suite("an outbox without a file", .timeLimit(.minutes(60)))
struct UnsavedOutboxTests {
    @Test func `has a request leave with the send, and the next one with the answer`() throws {
        var client = try Client(savesChanges: false)
        let first = client.send("1")
        let post = try #require(first.requests.first)
        #expect(post.request.text == "1")
        #expect(first.outcomes == [.queued, .sent])
        let second = client.send("2")
        guard case .deliver(room, .accepted(Ticket(2)))? = second.first else {
            Issue.record("a send begins with its ticket")
            return
        }
        #expect(second.outcomes == [.queued])
        #expect(second.requests.isEmpty)
        let outputs = try client.answer(post.id, 200, receipt(1))
        #expect(outputs.requests.map(\.request.text) == ["2"])
        #expect(outputs.ends == ["1:applied 1"])
        #expect((first + second + outputs).changes.isEmpty)
    }

    @Test func `gives up what is in doubt, and sends the next`() throws {
        var client = try Client(savesChanges: false)
        let first = try #require(client.send("1").requests.first)
        _ = client.send("2")
        _ = client.receive(.requestFailed(first.id, "reset"))
        client.now.uptime += .seconds(23 * 3600)
        let outputs = client.receive(.timer)
        #expect(outputs.ends == ["1:inDoubt"])
        #expect(outputs.requests.map(\.request.text) == ["2"])
        #expect(outputs.changes.isEmpty)
    }

    /// A machine with a file whose changes are durable at once is the model.
    @Test func `leads to what a file that saves at once leads to`() throws {
        for seed in 0..<300 as Range<UInt64> {
            var life = try RandomLife(seed: seed)
            for _ in 0..<120 {
                let input = life.nextInput()
                try #require(life.differences(after: input) == [], "seed \(seed): \(input)")
            }
        }
    }
}

/// Two clients that get the same random inputs, one of them with a file.
private struct RandomLife {
    private var generator: SeededGenerator
    private var saving: Client
    private var unsaved: Client
    private var wakeTimes: (saving: Duration?, unsaved: Duration?)
    private var posts: [AttemptID] = []
    private var otherRequests: [AttemptID] = []
    private var streams: [AttemptID] = []
    private var keys: [String] = []
    private var position: UInt64 = 0

    init(seed: UInt64) throws {
        generator = SeededGenerator(seed: seed)
        var limits = ClientLimits()
        limits.actionsInRequest = 3
        limits.actionsInOutbox = 12
        saving = try Client(seed: seed, limits: limits)
        unsaved = try Client(savesChanges: false, seed: seed, limits: limits)
    }

    mutating func nextInput() -> Input {
        switch pick(16) {
        case 0...3:
            return .send(session, (0...pick(2)).map { _ in Array("\(pick(9))".utf8) })
        case 4: return .discard(ticket, session)
        case 5: return .seen(ticket)
        case 6:
            let demand = Demand(states: pick(3) > 0)
            return .follow(
                session,
                Following(demand: demand, makes: pick(2) > 0 ? "r" : nil, predicts: pick(2) > 0))
        case 7: return pick(4) == 0 ? .leave(session) : .wake
        case 8, 9: return passTime()
        case 10, 11: return streamInput ?? .timer
        case 12: return otherAnswer ?? .timer
        default: return postAnswer ?? .timer
        }
    }

    /// Both receive the input.
    ///
    /// - Returns: what is not the same.
    mutating func differences(after input: Input) -> [String] {
        let (first, second) = (saving.receive(input), unsaved.receive(input))
        for output in second { record(output) }
        for case .wakeMe(let time) in first { wakeTimes.saving = time }
        for case .wakeMe(let time) in second { wakeTimes.unsaved = time }
        var differences: [String] = []
        if Self.others(of: first) != Self.others(of: second) {
            differences.append("\(Self.others(of: first)) and \(Self.others(of: second))")
        }
        if !second.changes.isEmpty { differences.append("changes are to be saved") }
        if saving.machine.outbox != unsaved.machine.outbox { differences.append("outboxes") }
        if wakeTimes.saving != wakeTimes.unsaved { differences.append("\(wakeTimes)") }
        return differences
    }

    private static func others(of outputs: [Output]) -> [Output] {
        outputs.filter { output in
            switch output {
            case .persist, .wakeMe: false
            default: true
            }
        }
    }

    private mutating func record(_ output: Output) {
        switch output {
        case .request(let id, let request):
            if let key = request.key {
                posts.append(id)
                keys.append(key)
            } else {
                otherRequests.append(id)
            }
        case .openStream(let id, _): streams.append(id)
        case .cancelRequest(let id), .closeStream(let id):
            posts.removeAll { $0 == id }
            otherRequests.removeAll { $0 == id }
            streams.removeAll { $0 == id }
        default: break
        }
    }

    // MARK: Random values

    private mutating func pick(_ count: Int) -> Int {
        Int.random(in: 0..<count, using: &generator)
    }

    private var session: SessionName { mutating get { pick(3) > 0 ? room : other } }

    private var ticket: Ticket {
        mutating get { Ticket(UInt64(pick(Int(unsaved.machine.outbox.nextTicket.number) + 1))) }
    }

    private mutating func passTime() -> Input {
        let times: [Duration] = [
            .milliseconds(60), .milliseconds(60), .seconds(2), .seconds(31), .seconds(3_600),
            .seconds(23 * 3_600),
        ]
        let time = times[pick(times.count)]
        for client in [\RandomLife.saving, \RandomLife.unsaved] {
            self[keyPath: client].now.uptime += time
            self[keyPath: client].now.date += time.components.seconds
        }
        return .timer
    }

    private var streamInput: Input? {
        mutating get {
            guard let id = streams.randomElement(using: &generator) else { return nil }
            switch pick(8) {
            case 0:
                streams.removeAll { $0 == id }
                return .streamEnded(id, failure: pick(2) > 0 ? "reset" : nil)
            case 1...3:
                let type = ClientRequest.Field("Content-Type", "text/event-stream")
                return .streamOpened(id, ClientResponse(200, fields: [type]))
            default:
                position += 1
                let cause = pick(2) > 0 ? keys.last : nil
                let event = block(
                    pick(4) > 0 ? "state" : "snapshot", "aaaaaaaa.\(position)",
                    #"{"state":1}"#, cause: cause)
                return .streamBytes(id, Array(event.utf8))
            }
        }
    }

    private func response(_ status: Int, _ body: String) -> ClientResponse {
        let type = status < 300 ? "application/json" : problemType
        return ClientResponse(
            status, fields: [.init("Content-Type", type)], body: Array(body.utf8))
    }

    private var otherAnswer: Input? {
        mutating get {
            guard let id = otherRequests.randomElement(using: &generator) else { return nil }
            otherRequests.removeAll { $0 == id }
            let status = [201, 201, 200, 404, 409, 503][pick(6)]
            return .answered(
                id, response(status, status < 300 ? made : #"{"code":"other_reactor"}"#))
        }
    }

    private var postAnswer: Input? {
        mutating get {
            guard let id = posts.randomElement(using: &generator) else { return nil }
            posts.removeAll { $0 == id }
            let statuses = [
                (0, ""), (409, "request_running"), (422, "not_an_action"), (422, "key_reused"),
                (404, "unknown_session"), (410, "session_ended"), (412, "position_changed"),
                (401, ""), (404, ""), (503, ""),
            ]
            guard pick(2) > 0 else {
                position += 1
                return .answered(id, response(200, receipt(position)))
            }
            let (status, code) = statuses[pick(statuses.count)]
            if status == 0 { return .requestFailed(id, "reset") }
            let body = #"{"status":\#(status),"code":"\#(code)","detail":"no"}"#
            return .answered(id, response(status, body))
        }
    }
}
