import JSONCoding
import TestRandomness
import Testing

@testable import ClientMachine

/// A machine with its clock, for tables: each call is one input, and returns its outputs.
struct Client {
    var machine: ClientMachine
    var now = ClientInstant(uptime: .zero, date: 1_800_000_000)
    /// Whether changes are durable at once, so that a test of something else need not say so.
    var savesAtOnce = true
    /// Changes in the order in which they were made durable: what survives the process.
    private(set) var saved: [OutboxChange] = []

    init(
        saved: [OutboxChange] = [], asksForCredentials: Bool = false, keepsStates: Bool = false,
        savesChanges: Bool = true, presence: ClientPresence = .off, seed: UInt64 = 1,
        limits: ClientLimits = .init()
    ) throws {
        self.saved = saved
        machine = ClientMachine(
            server: ServerAddress(origin: "https://example.com", path: "/base"),
            outbox: try #require(Outbox(replaying: saved)), asksForCredentials: asksForCredentials,
            keepsStates: keepsStates, savesChanges: savesChanges, presence: presence,
            limits: limits,
            using: SeededGenerator(seed: seed))
    }

    mutating func receive(_ input: Input) -> [Output] {
        var outputs = machine.receive(input, at: now)
        guard case .persist(let number, let changes)? = outputs.first, savesAtOnce else {
            return outputs
        }
        saved += changes
        outputs += receive(.persisted(number))
        return outputs
    }

    /// Lets time pass, and wakes the machine.
    mutating func wait(_ time: Duration) -> [Output] {
        now.uptime += time
        now.date += time.components.seconds
        return receive(.timer)
    }

    mutating func send(
        _ actions: String..., to session: SessionName = room, options: SendOptions = .init()
    ) -> [Output] {
        receive(.send(session, actions.map { Array($0.utf8) }, options))
    }

    mutating func answer(
        _ id: AttemptID?, _ status: Int, _ body: String = "", _ fields: [ClientRequest.Field] = []
    )
        throws -> [Output]
    {
        let id = try #require(id)
        let isEmptySuccess = body.isEmpty && (status == 200 || status == 201)
        let body = isEmptySuccess ? made : body
        let type = ClientRequest.Field(
            "Content-Type", status < 300 ? "application/json" : problemType)
        return receive(
            .answered(id, ClientResponse(status, fields: fields + [type], body: Array(body.utf8))))
    }

    /// A refusal in the service's form.
    mutating func problem(_ id: AttemptID?, _ status: Int, _ code: String) throws -> [Output] {
        try answer(id, status, #"{"status":\#(status),"code":"\#(code)","detail":"\#(code)!"}"#)
    }

    /// An answer in place of a stream, in the service's form.
    mutating func refuse(_ id: AttemptID, _ status: Int, _ code: String) -> [Output] {
        _ = head(id, status)
        _ = bytes(id, #"{"status":\#(status),"code":"\#(code)","detail":"\#(code)!"}"#)
        return receive(.streamEnded(id, failure: nil))
    }

    /// Follows sessions, and has their stream opened.
    ///
    /// - Returns: the stream's attempt.
    mutating func open(
        _ sessions: SessionName..., following: Following = .init(demand: .init(states: true))
    ) throws -> AttemptID {
        for session in sessions { _ = receive(.follow(session, following)) }
        let id = try #require(wait(.milliseconds(50)).streams.first?.id)
        _ = head(id)
        return id
    }

    mutating func head(_ id: AttemptID?, _ status: Int = 200) -> [Output] {
        guard let id else { return [] }
        let type = status == 200 ? "text/event-stream" : problemType
        return receive(
            .streamOpened(id, ClientResponse(status, fields: [.init("Content-Type", type)])))
    }

    mutating func bytes(_ id: AttemptID, _ text: String) -> [Output] {
        receive(.streamBytes(id, Array(text.utf8)))
    }

    /// A block of a stream, complete.
    mutating func event(
        _ id: AttemptID, _ name: String, _ position: String, _ data: String, cause: String? = nil
    ) -> [Output] {
        bytes(id, block(name, position, data, cause: cause))
    }
}

func block(_ name: String, _ position: String, _ data: String, cause: String? = nil) -> String {
    "event: \(name)\nid: \(position)\n\(cause.map { "cause: \($0)\n" } ?? "")data: \(data)\n\n"
}

let problemType = "application/problem+json"

/// The service's answer to a request that makes a session.
let made = #"{"id":"room","reactor":"chat","version":0,"position":"aaaaaaaa.0"}"#

func receipt(_ number: UInt64, _ rest: String = "") -> String {
    #"{"version":\#(number),"position":"aaaaaaaa.\#(number)"\#(rest)}"#
}

let room = SessionName("room") ?? name("room")
let other = name("other")

func name(_ text: String) -> SessionName { SessionName(text) ?? room }

func at(_ number: UInt64, part: UInt32 = 0) -> StreamPosition {
    StreamPosition("aaaaaaaa", number, part: part)
}

extension [Output] {
    var requests: [(id: AttemptID, request: ClientRequest)] {
        compactMap { if case .request(let id, let request) = $0 { (id, request) } else { nil } }
    }
    var streams: [(id: AttemptID, request: ClientRequest)] {
        compactMap { if case .openStream(let id, let request) = $0 { (id, request) } else { nil } }
    }
    var changes: [OutboxChange] {
        flatMap { output -> [OutboxChange] in
            if case .persist(_, let changes) = output { changes } else { [] }
        }
    }
    var closed: [AttemptID] {
        compactMap { if case .closeStream(let id) = $0 { id } else { nil } }
    }
    var asked: [(id: AttemptID, refused: String?)] {
        compactMap {
            if case .askForCredential(let id, let refused) = $0 { (id, refused) } else { nil }
        }
    }
    var deliveries: [Delivery] {
        compactMap { if case .deliver(_, let delivery) = $0 { delivery } else { nil } }
    }
    var outcomes: [TicketOutcome] { settled.map(\.1) }
    var settled: [(Ticket, TicketOutcome)] {
        deliveries.compactMap {
            if case .outcome(let ticket, let outcome) = $0 { (ticket, outcome) } else { nil }
        }
    }
    /// Outcomes that end a send, as `1:applied`.
    var ends: [String] {
        settled.compactMap { ticket, outcome in
            switch outcome {
            case .queued, .sent: nil
            case .applied(let receipt): "\(ticket.number):applied \(receipt.position.number)"
            case .refused(let problem, _): "\(ticket.number):refused \(problem.code)"
            case .inDoubt: "\(ticket.number):inDoubt"
            case .discarded: "\(ticket.number):discarded"
            case .outboxUnavailable: "\(ticket.number):outboxUnavailable"
            case .stored: "\(ticket.number):stored"
            }
        }
    }
    var shown: [ShownChange] {
        deliveries.compactMap { if case .shown(let change) = $0 { change } else { nil } }
    }
    var statuses: [LinkStatus] {
        deliveries.compactMap { if case .status(let status) = $0 { status.link } else { nil } }
    }
    /// Events and snapshots, as `name@number[.part]=data`.
    var news: [String] {
        deliveries.compactMap {
            switch $0 {
            case .snapshot(let snapshot):
                "snapshot@\(snapshot.position.number)=\(String(decoding: snapshot.state ?? snapshot.pulses ?? [], as: UTF8.self))"
            case .state(let event, _), .event(let event):
                "\(event.name)@\(event.position.text.dropFirst(9))=\(String(decoding: event.data, as: UTF8.self))"
            case .reset(let reason): "reset \(reason)"
            case .ended(let reason): "ended \(reason)"
            default: nil
            }
        }
    }
}

extension ClientRequest {
    var key: String? { fields.first { $0.name == "Idempotency-Key" }?.value }
    var text: String { String(decoding: body, as: UTF8.self) }
    func value(_ name: String) -> String? { fields.first { $0.name == name }?.value }
}
