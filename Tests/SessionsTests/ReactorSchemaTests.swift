import Cyclers
import JSONCoding
import Reactors
import SampleReactors
import Sessions
import TestRandomness
import Testing

@Suite("Schemas — of the reactors that are hosted", .timeLimit(.minutes(60)))
struct ReactorSchemaTests {
    private func samples() throws -> [Registration] {
        [
            try Registration(
                name: "alerts", activities: [],
                examples: [.alert(message: "Hello"), .doSomeAction],
                clock: ContinuousClock(), make: { Alerts() }),
            try Registration(
                name: "counter", activities: ["didReachBigNumber"],
                examples: [.increment(number: 5), .decrement(number: 5)],
                makeCycler: { Counter() }),
            try Registration(
                name: "job", activities: [],
                examples: [.start(steps: 10), .startIfIdle(steps: 10), .cancel],
                clock: ContinuousClock(), make: { Job() }),
            try Registration(
                name: "chat", activities: ["typing"],
                examples: [.say(author: "ada", text: "Hi"), .typing(author: "ada")],
                clock: ContinuousClock(), make: { Chat() }),
        ]
    }

    private func schemas(
        _ registration: Registration, atMost limit: Int = .max
    ) -> JSONValue { registration.schemas.json(atMost: limit) }

    // MARK: The samples

    private let int =
        #"{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}"#

    @Test func `a reactor has the schemas of its actions, its state and its pulses`() throws {
        let alerts = try samples()[0]
        let message = #"{"type":["string","null"]}"#
        let alert = #"{"type":{"const":"alert"},"message":\#(message)}"#
        let other = #"{"type":{"const":"doSomeAction"}}"#
        #expect(
            text(schemas(alerts)) == #"{"action":{"oneOf":["#
                + #"{"type":"object","properties":\#(alert),"required":["type"]},"#
                + #"{"type":"object","properties":\#(other),"required":["type"]}]},"#
                + #""state":{"type":"object","properties":{"alertMessage":\#(message),"#
                + #""actions":\#(int)},"required":["actions"]},"#
                + #""pulses":{"alertMessage":\#(message)},"activities":{}}"#)
    }

    @Test func `the parts that no value shows are found: elements, nil, activities`() throws {
        let chat = schemas(try samples()[3])
        let message = chat["state"]?["properties"]?["messages"]?["items"]
        #expect(message?["required"] == ["number", "author", "text"])
        #expect(message?["properties"]?["author"] == ["type": "string"])
        #expect(chat["pulses"]?["newest"]?["type"] == ["object", "null"])
        #expect(
            chat["activities"]?["typing"].map(text)
                == #"{"type":"object","properties":{"type":{"const":"typing"},"#
                + #""author":{"type":"string"}},"required":["type","author"]}"#)
    }

    @Test func `a Cycler has them too, and an enum with raw values is listed`() throws {
        let counter = schemas(try samples()[1])
        #expect(counter["action"]?["oneOf"]?[0]?["properties"]?["type"] == ["const": "increment"])
        #expect(counter["state"]?["properties"]?["count"].map(text) == int)
        #expect(
            counter["activities"]?["didReachBigNumber"]?["properties"]
                == ["type": ["const": "didReachBigNumber"]])
        let job = schemas(try samples()[2])
        #expect(job["pulses"]?["phase"] == ["enum": ["idle", "running", "finished", "cancelled"]])
    }

    @Test func `every example and every initial state fits its schema`() throws {
        let initial: [JSONValue] = [
            tree(Alerts().initialState), tree(Counter().state.value), tree(Job().initialState),
            tree(Chat().initialState),
        ]
        for (registration, state) in zip(try samples(), initial) {
            let all = schemas(registration)
            let action = try #require(all["action"].flatMap(JSONSchema.init(value:)))
            #expect(action != .anything)
            for example in registration.examples {
                #expect(action.fits(try JSON.decode(JSONValue.self, from: example)))
            }
            #expect(!action.fits(["type": "no such case"]))
            #expect(try #require(all["state"].flatMap(JSONSchema.init(value:))).fits(state))
            #expect(!registration.pulses.isEmpty || registration.name == "counter")
            for pulse in registration.pulses {
                let schema = all["pulses"]?[pulse].flatMap(JSONSchema.init(value:))
                #expect(try #require(schema).fits(state[pulse] ?? .null))
            }
        }
    }

    @Test(arguments: 0..<8)
    func `every value of an action's schema is an action of the samples`(seed: UInt64) throws {
        let samples = try samples()
        try check(Alerts.Action.self, schemas(samples[0])["action"], seed)
        try check(Counter.Action.self, schemas(samples[1])["action"], seed)
        try check(Job.Action.self, schemas(samples[2])["action"], seed)
        try check(Chat.Action.self, schemas(samples[3])["action"], seed)
        try check(Everything.self, schemas(try everything())["action"], seed)
    }

    private func check<Action: Codable>(
        _ type: Action.Type, _ schema: JSONValue?, _ seed: UInt64
    ) throws {
        var maker = ValueMaker(seed: seed, root: try #require(schema))
        for _ in 0..<300 {
            let value = maker.value()
            var bytes: [UInt8] = []
            try JSON.encode(value, into: &bytes)
            #expect(throws: Never.self, "\(text(value)), seed \(seed)") {
                _ = try JSON.decode(type, from: bytes)
            }
        }
    }

    // MARK: More than the samples have

    fileprivate enum Everything: TaggedCodable, Sendable {
        case scalars(UInt8, Int16, UInt64, flag: Bool, share: Double, half: Float)
        case optional(number: Int?, part: Part?)
        case lists([Part], [[String]], byName: [String: Part], byNumber: [Int: Bool])
        case speed(Speed, level: Level?)
        case swiftsForm(Form)
        case again(Group)
        case nothing
    }

    fileprivate struct Part: Codable, Sendable {
        var number: Int32
        var name: String?
    }
    fileprivate enum Speed: String, Codable, Sendable { case slow, fast }
    fileprivate enum Level: Int, Codable, Sendable { case low = 1, high = 10 }
    fileprivate enum Form: Codable, Sendable {
        case one(Int8)
        case two(text: String, part: Part)
        case none
    }
    fileprivate struct Group: Codable, Sendable {
        var groups: [Group]
        var last: Speed?
    }

    private struct Universal: Reactor {
        typealias Action = Everything
        struct State: Codable, Sendable {
            var actions: [Everything] = []
            var last: Everything?
        }
        let initialState = State()
    }

    private func everything(_ examples: [Everything] = []) throws -> Registration {
        try Registration(
            name: "everything", activities: [], examples: examples, clock: ContinuousClock(),
            make: { Universal() })
    }

    @Test func `cases without an example are found by their types`() throws {
        let action = try #require(schemas(try everything())["action"])
        guard case .array(let cases)? = action["oneOf"] else {
            Issue.record("\(text(action))")
            return
        }
        #expect(
            cases.map { $0["properties"]?["type"]?["const"] } == [
                "scalars", "optional", "lists", "speed", "swiftsForm", "again", "nothing",
            ])
        let shown = schemas(try everything([.nothing, .optional(number: nil, part: nil)]))
        #expect(shown["action"] == action)
    }

    /// Actions of the author's own form, and one that cannot be read back.
    fileprivate enum Own: Codable, Sendable, Equatable {
        case move(Int)
        case name(String)
        case odd

        enum CodingKeys: CodingKey { case kind, by, name }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            switch try container.decode(String.self, forKey: .kind) {
            case "move": self = .move(try container.decode(Int.self, forKey: .by))
            case "name": self = .name(try container.decode(String.self, forKey: .name))
            default:
                throw DecodingError.dataCorruptedError(
                    forKey: .kind, in: container, debugDescription: "no such kind")
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            switch self {
            case .move(let by):
                try container.encode("move", forKey: .kind)
                try container.encode(by, forKey: .by)
            case .name(let name):
                try container.encode("name", forKey: .kind)
                try container.encode(name, forKey: .name)
            case .odd: try container.encode("odd", forKey: .kind)
            }
        }
    }

    private struct Mover: Reactor {
        typealias Action = Own
        struct State: Codable, Sendable {
            @Pulse var last: Own = .name("a")
            var names: [Own] = []
        }
        let initialState = State()
    }

    @Test func `the examples show a form of the author's own, and the state may have others`()
        throws
    {
        func action(_ examples: [Own]) throws -> JSONValue? {
            schemas(
                try Registration(
                    name: "mover", activities: ["any"], examples: examples,
                    clock: ContinuousClock(), make: { Mover() }))["action"]
        }
        let shown = try #require(try action([.move(1), .name("b")]))
        #expect(shown["anyOf"]?[0]?["required"] == ["kind", "by"])
        #expect(shown["anyOf"]?[1]?["required"] == ["kind", "name"])
        // An example that is no action does not stop the start; and it fits.
        let odd = try #require(try action([.move(1), .odd]))
        #expect(odd == .object([]))
        let all = schemas(
            try Registration(
                name: "mover", activities: ["any"], examples: [], clock: ContinuousClock(),
                make: { Mover() }))
        #expect(all["state"]?["properties"]?["last"] == .object([]))
        #expect(all["state"]?["properties"]?["names"] == ["type": "array"])
        #expect(all["pulses"] == ["last": .object([])])
        #expect(all["activities"] == ["any": .object([])])
    }

    // MARK: Bounds

    private struct Wide<Value: Codable & Sendable>: Codable, Sendable {
        var alpha: Value
        var beta: Value
        var gamma: Value
        var delta: Value
    }

    private struct Immense: Reactor {
        enum Action: TaggedCodable, Sendable {
            case small(number: Int)
            case large(Wide<Wide<Wide<Wide<Wide<[String]>>>>>)
        }
        struct State: Codable, Sendable {
            var all: [Action] = []
            @Pulse var one: Wide<Wide<Wide<Wide<[Int]>>>>?
            @Pulse var text = ""
        }
        let initialState = State()
    }

    @Test func `schemas have at most 64 KiB; those that exceed it are anything`() throws {
        let immense = schemas(
            try Registration(
                name: "immense", activities: [], examples: [], clock: ContinuousClock(),
                make: { Immense() }))
        let size = text(immense).utf8.count
        #expect(size > 10_000)
        #expect(size < ReactorSchemas.limitBytes + 200)
        let parts = [immense["action"], immense["state"], immense["pulses"]?["one"]]
        #expect(parts.contains(.object([])))
        #expect(parts.contains { $0 != .object([]) })
        #expect(immense["pulses"]?["text"] == ["type": "string"])
    }

    @Test func `a list without room has every schema as anything`() throws {
        let chat = try samples()[3]
        let size = text(schemas(chat)).utf8.count
        #expect(schemas(chat, atMost: size) == schemas(chat))
        #expect(
            text(schemas(chat, atMost: size - 1))
                == #"{"action":{},"state":{},"pulses":{"newest":{}},"activities":{"typing":{}}}"#)
    }

    private func text(_ value: JSONValue) -> String {
        String(decoding: bytes(value), as: UTF8.self)
    }

    private func tree(_ value: some Encodable) -> JSONValue {
        (try? JSON.decode(JSONValue.self, from: bytes(value))) ?? .null
    }

    private func bytes(_ value: some Encodable) -> [UInt8] {
        var bytes: [UInt8] = []
        do {
            try JSON.encode(value, into: &bytes)
        } catch {
            Issue.record("\(error)")
        }
        return bytes
    }
}
