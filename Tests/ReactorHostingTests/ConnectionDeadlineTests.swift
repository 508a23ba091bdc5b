import Sockets
import Testing

@testable import ReactorHosting

/// The defaults: requests 30 s, silence 75 s, a stall 30 s, a heartbeat 15 s.
@Suite("Connections — deadlines", .timeLimit(.minutes(60)))
struct ConnectionDeadlineTests {
    private func at(_ seconds: Int64) -> LoopInstant {
        LoopInstant(nanoseconds: seconds * 1_000_000_000)
    }

    private func deadlines(
        _ activity: ConnectionDeadlines.Activity, last: Int64 = 0, began: Int64? = nil,
        bodyBytes: Int? = nil, hasUnsent: Bool = false, hasPending: Bool = false,
        configuration: Configuration = Configuration()
    ) -> ConnectionDeadlines {
        ConnectionDeadlines(
            configuration: configuration, heartbeat: configuration.heartbeat,
            activity: activity, lastProgress: at(last),
            requestBegan: began.map(at), newBodyBytes: bodyBytes, hasUnsent: hasUnsent,
            hasPending: hasPending)
    }

    // All at once would be 10 000 heartbeats in one moment, every 15 s.
    @Test func `heartbeats of streams that were opened together are spread over 3 s`() {
        let times = (0..<10_000 as Range<UInt32>).map {
            ConnectionDeadlines.heartbeat(.seconds(15), of: $0)
        }
        var counts = [Int](repeating: 0, count: 30)
        for time in times {
            #expect(time > .seconds(12) && time <= .seconds(15))
            counts[min(29, Int((.seconds(15) - time) / .milliseconds(100)))] += 1
        }
        #expect((counts.min() ?? 0) > 300 && (counts.max() ?? 0) < 400)
    }

    @Test func `a connection is idle after 75 s without a request`() {
        let idle = deadlines(.reading)
        #expect(idle.next(after: at(10)) == at(75))
        #expect(idle.due(at: at(74)) == .nothing)
        #expect(idle.due(at: at(75)) == .idleness)
    }

    @Test func `a request may take 30 s from its first byte`() {
        let reading = deadlines(.reading, last: 25, began: 10)
        #expect(reading.next(after: at(25)) == at(40))
        #expect(reading.due(at: at(39)) == .nothing)
        #expect(reading.due(at: at(40)) == .requestTimeout)
    }

    @Test func `a body that keeps 4096 bytes a second gets another 30 s`() {
        for (bytes, due): (Int?, ConnectionDeadlines.Due) in [
            (nil, .requestTimeout), (0, .slowBody), (30 * 4_096 - 1, .slowBody),
            (30 * 4_096, .nextPeriod), (.max, .nextPeriod),
        ] {
            let reading = deadlines(.reading, last: 39, began: 10, bodyBytes: bytes)
            #expect(reading.due(at: at(39)) == .nothing)
            #expect(reading.due(at: at(40)) == due, "\(bytes ?? -1)")
        }
        // A deadline may be noticed late: then more must have arrived.
        let late = deadlines(.reading, last: 39, began: 10, bodyBytes: 30 * 4_096)
        #expect(late.due(at: at(41)) == .slowBody)
    }

    @Test func `without a minimum rate no body may take longer`() {
        var configuration = Configuration()
        configuration.bodyRate = 0
        let reading = deadlines(
            .reading, last: 39, began: 10, bodyBytes: .max, configuration: configuration)
        #expect(reading.due(at: at(40)) == .requestTimeout)
    }

    // Without the rule: 408 for a request that the server did not read.
    @Test func `a request behind unsent responses gets a new time limit when they are sent`() {
        let heldUp = deadlines(.reading, last: 39, began: 10, hasUnsent: true)
        #expect(heldUp.due(at: at(40)) == .restart)
        #expect(heldUp.next(after: at(40)) == at(69))
        #expect(heldUp.due(at: at(69)) == .stall)
    }

    // Without the rule: the connection is closed as idle, with its requests unread.
    @Test func `a request that waits for its turn is neither idle nor too slow`() {
        #expect(deadlines(.reading, hasPending: true).due(at: at(75)) == .restart)
        #expect(deadlines(.reading, began: 0, hasPending: true).due(at: at(30)) == .restart)
        #expect(deadlines(.reading, hasPending: true).next(after: at(75)) == at(105))
    }

    @Test(arguments: [
        ConnectionDeadlines.Activity.reading, .waiting(until: nil), .closing,
        .streaming(endsAt: LoopInstant(nanoseconds: .max), isBlocked: true),
    ])
    func `a peer that accepts no byte for 30 s is stalled`(activity: ConnectionDeadlines.Activity) {
        let stalled = deadlines(activity, hasUnsent: true)
        #expect(stalled.next(after: at(1)) <= at(30))
        #expect(stalled.due(at: at(29)) != .stall)
        #expect(stalled.due(at: at(30)) == .stall)
    }

    @Test func `a wait has its own time limit, and a commit has none`() {
        #expect(deadlines(.waiting(until: at(10))).next(after: at(0)) == at(10))
        #expect(deadlines(.waiting(until: at(10))).due(at: at(10)) == .waitEnd)
        #expect(deadlines(.waiting(until: nil)).next(after: at(100)) == at(175))
        #expect(deadlines(.waiting(until: nil)).due(at: at(1_000)) == .nothing)
    }

    @Test func `a stream has a heartbeat after 15 s of silence, unless it is blocked, and an end`()
    {
        let stream = deadlines(.streaming(endsAt: at(600), isBlocked: false), last: 100)
        #expect(stream.next(after: at(100)) == at(115))
        #expect(stream.due(at: at(114)) == .nothing)
        #expect(stream.due(at: at(115)) == .heartbeat)
        #expect(stream.due(at: at(600)) == .streamEnd)
        let blocked = deadlines(.streaming(endsAt: at(600), isBlocked: true), last: 100)
        // A reader of the journal may accept bytes again without another deadline.
        #expect(blocked.next(after: at(100)) == at(115))
        #expect(blocked.due(at: at(115)) == .nothing)
        #expect(blocked.next(after: at(115)) == at(130))
        #expect(blocked.due(at: at(130)) == .stall)
    }
}
