import Feeds
import JSONCoding
import Reactors
import Sessions
import Storage
import Testing

@Suite(
    "Contract §5 — a reactor that can't work is refused at registration", .timeLimit(.minutes(60)))
struct RegistrationCheckTests {
    private func faults<R: Reactor>(
        _ activities: [String] = [], _ make: @escaping @Sendable () -> R
    ) throws -> [String]
    where R.Action: Codable, R.Mutation: Codable, R.State: Codable, R.Activity: Codable {
        do throws(RegistrationFailure) {
            _ = try Registration(
                name: "r", activities: activities, examples: [], clock: ContinuousClock(),
                make: make)
            return []
        } catch {
            return error.faults
        }
    }

    private enum Count: TaggedCodable, Sendable { case count }

    // MARK: The state

    private struct Infinite: Reactor {
        typealias Action = Count
        struct State: Codable, Sendable { var rate = Double.infinity }
        let initialState = State()
    }

    /// Reads only keys that it never writes.
    private struct Forgetful: Reactor {
        typealias Action = Count
        struct State: Codable, Sendable {
            var count = 0
            enum Key: CodingKey { case count, number }
            init() {}
            init(from decoder: any Decoder) throws {
                count = try decoder.container(keyedBy: Key.self).decode(Int.self, forKey: .number)
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(count, forKey: .count)
            }
        }
        let initialState = State()
    }

    private struct Shifting: Reactor {
        typealias Action = Count
        struct State: Codable, Sendable {
            var count = 0
            init() {}
            init(from decoder: any Decoder) throws {
                count = try decoder.singleValueContainer().decode(Int.self) + 1
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(count)
            }
        }
        let initialState = State()
    }

    /// Writes a key twice.
    private struct Twice: Reactor {
        typealias Action = Count
        struct State: Codable, Sendable {
            var count = 0
            enum Key: CodingKey { case count }
            init() {}
            init(from decoder: any Decoder) throws {}
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(count, forKey: .count)
                try container.encode(count, forKey: .count)
            }
        }
        let initialState = State()
    }

    private struct Shared: Reactor {
        typealias Action = Count
        final class State: Codable, Sendable {}
        let initialState = State()
    }

    // Case 159
    @Test func `a state that does not survive encode and decode is refused`() throws {
        #expect(
            try faults { Infinite() } == [
                "the initial state can't be written as JSON: inf is not a JSON number (at /rate)"
            ])
        let forgetful = try faults { Forgetful() }
        #expect(forgetful.count == 1)
        #expect(forgetful.first?.contains("the field \"number\" is missing") == true)
        #expect(try faults { Shifting() }.first?.contains("is not the same") == true)
        #expect(try faults { Twice() }.first?.contains("twice") == true)
        #expect(try faults { Shared() }.first?.contains("is a class") == true)
    }

    // MARK: Cases

    private struct Loud: Reactor {
        enum Action: TaggedCodable, Sendable {
            case fine(kind: String)
            case named(number: Int, type: String)
            case last
        }
        enum Activity: TaggedCodable, Sendable {
            case said
            case open(number: Int)
            case end
        }
        struct State: Codable, Sendable { @Pulse var snapshot = 0 }
        let initialState = State()
    }

    // Case 159
    @Test func `reserved activities and fields called type are refused, all at once`() throws {
        let found = try faults(["said"]) { Loud() }
        #expect(
            found == [
                "the activity end has a reserved name; its case needs another one",
                "the activity open has a reserved name; its case needs another one",
                "the action named has a field called \"type\", which names the case; rename it",
                "snapshot is reserved; a pulse or activity needs another name",
            ])
    }

    private struct Later: Reactor {
        typealias Action = Count
        enum Activity: TaggedCodable, Sendable {
            case patch
            case cause(number: Int)
            case logged
        }
        struct State: Codable, Sendable {
            @Pulse var receipt = 0
            @Pulse var mutation = 0
            @Pulse var log = 0
        }
        let initialState = State()
    }

    // Case 159
    @Test func `names that the service may use later are refused already`() throws {
        let pulse = "is reserved; a pulse or activity needs another name"
        #expect(
            try faults(["logged"]) { Later() } == [
                "the activity cause has a reserved name; its case needs another one",
                "the activity patch has a reserved name; its case needs another one",
                "receipt \(pulse)", "mutation \(pulse)", "log \(pulse)",
            ])
    }

    private struct Plain: Reactor {
        typealias Action = Count
        enum Activity: Codable, Sendable {
            case said(number: Int)
            case message(text: String)
        }
        struct State: Codable, Sendable { var count = 0 }
        let initialState = State()
    }

    private struct Raw: Reactor {
        typealias Action = Count
        enum Activity: String, Codable, Sendable { case said, ping }
        struct State: Codable, Sendable { var count = 0 }
        let initialState = State()
    }

    private struct Struct: Reactor {
        typealias Action = Count
        struct Activity: Codable, Sendable { var message = "" }
        struct State: Codable, Sendable { var count = 0 }
        let initialState = State()
    }

    // Case 159
    @Test func `a reserved activity is found in every encoding of an enum`() throws {
        let end = "has a reserved name; its case needs another one"
        #expect(try faults { Plain() } == ["the activity message \(end)"])
        #expect(try faults { Raw() } == ["the activity ping \(end)"])
        #expect(try faults { Struct() } == [])
    }

    /// Accepts unknown names, because later versions may have more.
    private struct Open: Reactor {
        typealias Action = Count
        enum Activity: Codable, Sendable {
            case said
            case unknown(String)
            init(from decoder: any Decoder) throws {
                let name = try decoder.singleValueContainer().decode(String.self)
                self = name == "said" ? .said : .unknown(name)
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                guard case .unknown(let name) = self else { return try container.encode("said") }
                try container.encode(name)
            }
        }
        struct State: Codable, Sendable { var count = 0 }
        let initialState = State()
    }

    // Case 159
    @Test func `an activity that accepts any name is not reserved`() throws {
        #expect(try faults { Open() } == [])
    }

    // MARK: Pulses

    private struct Renamed: Reactor {
        enum Action: TaggedCodable, Sendable {
            case say(text: String)
        }
        struct State: Codable, Sendable {
            @Pulse var alertMessage = ""
            var count = 0
            @Pulse var other: Int?

            enum CodingKeys: String, CodingKey {
                case alertMessage = "alert/message"
                case count
                case other
            }
        }
        let initialState = State()

        func reduce(state: inout State, mutation: Action) {
            guard case .say(let text) = mutation else { return }
            state.alertMessage = text
            state.other = 1
        }
    }

    // Case 157
    @Test func `a pulse's name on the wire is its coding key`() throws {
        let registration = try Registration.of("renamed") { Renamed() }
        #expect(registration.pulses == ["alert/message", "other"])
        let rig = Rig(answers: true, registrations: [registration])
        let session = try rig.create("s", registration)
        let reader = rig.subscribe(session, .allPulses, .now)
        try rig.act(#"{"type":"say","text":"a"}"#, on: session)
        #expect(rig.lines(reader) == [#"alert/message 1.1 "a""#, "other 1 1"])
        #expect(
            rig.lines(rig.subscribe(session, .allPulses))
                == [#"snapshot 1 {"alert/message":"a","other":1}"#])
        #expect(rig.state(session) == #"{"alert/message":"a","count":0,"other":1}"#)
        #expect(
            rig.journal.kept.last { $0.kind == .mutation }?.events.map(\.name)
                == registration.pulses)
    }

    // MARK: Pulses inside other values

    private struct Child: Codable, Sendable {
        @Pulse var alert: String?
        var size = 1
    }

    private enum Stage: TaggedCodable, Sendable {
        case empty
        case loaded(child: Child, count: Int)
    }

    private struct Tree: Codable, Sendable { var branches: [Tree] = [] }

    private struct Page<Content: Codable & Sendable>: Codable, Sendable {
        var items: [Content] = []
    }

    private struct Parent: Reactor {
        typealias Action = Count
        struct State: Codable, Sendable {
            @Pulse var alert: String?
            var count = 0
            var tree = Tree()
            var child = Child()
            var guest: Child?
            var pages: Page<Child> = Page()
            var byName: [String: Child] = [:]
            var stage = Stage.empty
            @Pulse var whole: Child?
            var plain: Pulse<Int>?
        }
        let initialState = State()
    }

    @Test func `a pulse inside another value is refused, wherever it is`() throws {
        let inner = [
            "child.alert", "guest.alert", "pages.items[].alert", "byName[].alert",
            "stage.loaded.child.alert", "whole.alert", "plain",
        ]
        #expect(
            try faults { Parent() }
                == inner.map {
                    "the pulse \($0) is not a field of the state itself, so it can't be streamed; "
                        + "declare it in the state"
                })
    }

    private struct Crowded: Reactor {
        typealias Action = Count
        struct Pair: Codable, Sendable {
            var left = Child()
            var right = Child()
        }
        struct Four: Codable, Sendable {
            var a = Pair()
            var b = Pair()
        }
        struct State: Codable, Sendable {
            var a = Four()
            var b = Four()
            var c = Four()
        }
        let initialState = State()
    }

    @Test func `at most eight pulses inside other values are named`() throws {
        #expect(try faults { Crowded() }.count == 8)
    }

    // MARK: A new field

    private struct Before: Reactor {
        enum Action: TaggedCodable, Sendable { case set(x: Int) }
        struct Place: Codable, Sendable { var x = 0 }
        struct State: Codable, Sendable { var place = Place() }
        let initialState = State()
        func reduce(state: inout State, mutation: Action) {
            guard case .set(let x) = mutation else { return }
            state.place.x = x
        }
    }

    private struct After: Reactor {
        typealias Action = Before.Action
        struct Place: Codable, Sendable {
            var x = 0
            var unit = "m"
        }
        struct State: Codable, Sendable {
            var place = Place()
            var humidity = 50
            @Pulse var level = 7
            @Pulse var note: String?
        }
        let initialState = State()
        func reduce(state: inout State, mutation: Action) {
            guard case .set(let x) = mutation else { return }
            state.place.x = x
        }
    }

    // Case 148
    @Test(arguments: [1, 3, 1_000])
    func `a deployment adds fields, and every session reads, old versions too`(
        snapshotEvery: Int
    ) throws {
        let old = try Registration.of("home") { Before() }
        let rig = Rig(answers: true, registrations: [old], snapshotEvery: snapshotEvery)
        let session = try rig.create("s", old)
        for x in 1...5 { try rig.act(#"{"type":"set","x":\#(x)}"#, on: session) }
        rig.table.stop()
        let next = Rig(
            journal: rig.journal, registrations: [try .of("home") { After() }],
            snapshotEvery: snapshotEvery)
        guard case .session(let woken) = try next.wake("s") else {
            Issue.record("it is not read")
            return
        }
        func shown(_ x: Int) -> String {
            #"{"place":{"x":\#(x),"unit":"m"},"humidity":50,"level":7,"note":null}"#
        }
        #expect(next.state(woken) == shown(5))
        for x in 0...5 {
            let token = next.read(woken, version: UInt64(x))
            next.settleAll()
            next.drainInbox()
            #expect(next.line(token) == "state \(shown(x)) of \(x) v5 n\(x)")
        }
        try next.act(#"{"type":"set","x":6}"#, on: woken)
        #expect(next.state(woken) == shown(6))
    }
}
