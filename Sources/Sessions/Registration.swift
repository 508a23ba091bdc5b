package import Feeds
internal import JSONCoding
package import Cyclers
public import Reactors
package import Storage

/// A hosted reactor: its name, the events of its streams, and a function that makes a machine.
@usableFromInline
package struct Registration: Sendable {
    package let name: String
    /// The reactor's `stateVersion`.
    package let stateVersion: Int
    /// The events of its streams.
    package let events: EventCatalog
    /// Actions as JSON, for `GET /v1/reactors`.
    package let examples: [[UInt8]]
    /// Announces the topics of the reactor's sources, so that a bus knows them before the first
    /// session is created. Makes a reactor to read its sources.
    package private(set) var announceTopics: @Sendable (TopicBus) -> Void = { _ in }
    /// Whether the reactor's sources include a topic, to which a session listens until it ends.
    package private(set) var listensToTopics = false
    /// The topics of the reactor's sources whose values may come over HTTP.
    package private(set) var topics: [String] = []
    /// The type of a reactor, and its initial state; nil for a Cycler.
    package private(set) var reactor: (type: any Reactor.Type, initialState: any Sendable)?
    /// The reactor's `expiresAfter`.
    package private(set) var expiresAfter: Duration?
    /// Whether the reactor has a `tags(of:)`.
    package private(set) var hasTags = false
    /// The type of a Cycler, whose sessions may have parts; nil for any other reactor.
    private(set) var cycler: ObjectIdentifier?
    /// Whether the `type` of an action names its case.
    package private(set) var hasTaggedActions = false
    /// The JSON Schemas of its types.
    package let schemas: ReactorSchemas
    /// The type of the input of its sessions; nil if they are created without one.
    package let input: InputType?
    let makeMachine: @Sendable (Session, SavedSession?) throws(RecoveryFault) -> any Machine
    /// Why a saved action cannot be read; nil if it can.
    private let refusal: @Sendable (_ action: [UInt8]) -> JSONRefusal?

    /// The names of the pulses on the wire, in declaration order.
    package var pulses: [String] { events.pulses }
    /// The names of activities that the reactor has announced.
    package var activities: [String] { events.activities }

    /// Hosts a reactor.
    ///
    /// - Throws: ``RegistrationFailure``, naming every fault.
    @inlinable
    package init<R: Reactor>(
        name: String, activities: [String], examples: [R.Action], clock: any Clock<Duration>,
        make: @escaping @Sendable () -> R
    ) throws(RegistrationFailure)
    where R.Action: Codable, R.Mutation: Codable, R.State: Codable, R.Activity: Codable {
        try self.init(
            name: name, activities: activities, examples: examples, clock: clock,
            make: SessionMaker(make))
    }

    /// Hosts a reactor that knows its session.
    ///
    /// - Throws: ``RegistrationFailure``, naming every fault.
    @inlinable
    package init<R: Reactor>(
        name: String, activities: [String], examples: [R.Action], clock: any Clock<Duration>,
        make: SessionMaker<R>
    ) throws(RegistrationFailure)
    where R.Action: Codable, R.Mutation: Codable, R.State: Codable, R.Activity: Codable {
        try self.init(
            name: name, activities: activities, examples: examples, clock: clock, make: make,
            compiled: ReactorMachine<R>.Compiled())
    }

    @usableFromInline
    init<R: Reactor>(
        name: String, activities: [String], examples: [R.Action], clock: any Clock<Duration>,
        make: SessionMaker<R>, compiled: ReactorMachine<R>.Compiled
    ) throws(RegistrationFailure)
    where R.Action: Codable, R.Mutation: Codable, R.State: Codable, R.Activity: Codable {
        let first = make.example()
        let initial = first.initialState
        let fields = JSON.pulses(of: initial)
        try self.init(
            name: name, stateVersion: R.stateVersion, input: make.input, initial: initial,
            fields: fields, activity: R.Activity.self, activities: activities, examples: examples,
            faults: Self.faults(inState: initial)
                + Self.faults(inActivity: R.Activity.self, announced: activities)
                + Self.faults(in: R.tags(of: initial))
                + Self.faults(inCasesOf: R.Activity.self, "activity")
                + Self.faults(inCasesOf: R.Action.self, "action")
                + (R.Mutation.self == R.Action.self
                    ? [] : Self.faults(inCasesOf: R.Mutation.self, "mutation")),
            makeFold: { (id, creation, snapshot) throws(RecoveryFault) in
                try ReactorFold(make.bind(id, creation)(), pulses: fields, from: snapshot)
            }
        ) { (session, saved) throws(RecoveryFault) in
            try ReactorMachine(
                make.bind(session.id.text, session.feed.creation)(), pulses: fields,
                session: session, clock: clock, saved: saved, compiled: compiled)
        }
        announceTopics = { bus in for source in make.example().sources { source.announce(bus) } }
        listensToTopics = first.sources.contains { $0.topic != nil }
        topics = first.sources.compactMap { $0.isDecodable ? $0.topic : nil }
        hasTaggedActions = R.Action.self is any TaggedCodable.Type
        expiresAfter = R.expiresAfter
        hasTags = R.tags(of: initial).isDeclared
        reactor = (R.self, initial)
    }

    /// Hosts a Cycler.
    ///
    /// - Throws: ``RegistrationFailure``, naming every fault.
    package init<C: ActionCycler & SendableMetatype>(
        name: String, activities: [String], examples: [C.Action],
        makeCycler make: @escaping @Sendable () -> C
    ) throws(RegistrationFailure)
    where C.Action: Codable, C.State: Codable, C.Activity: Codable {
        try self.init(
            name: name, activities: activities, examples: examples, makeCycler: SessionMaker(make))
    }

    /// Hosts a Cycler that knows its session.
    ///
    /// - Throws: ``RegistrationFailure``, naming every fault.
    package init<C: ActionCycler & SendableMetatype>(
        name: String, activities: [String], examples: [C.Action], makeCycler make: SessionMaker<C>
    ) throws(RegistrationFailure)
    where C.Action: Codable, C.State: Codable, C.Activity: Codable {
        try self.init(
            name: name, activities: activities, examples: examples, makeCycler: make, link: nil)
    }

    /// Hosts a Cycler that is a part of another one. The session id names the parent's session.
    ///
    /// - Throws: ``RegistrationFailure``, naming every fault.
    package init<C: ActionCycler & ModularCycler & SendableMetatype>(
        name: String, activities: [String], examples: [C.Action],
        makePart make: @escaping @Sendable () -> C
    ) throws(RegistrationFailure)
    where
        C.Action: Codable, C.State: Codable, C.Activity: Codable,
        C.Parent: ActionCycler & SendableMetatype, C.Parent.Action: Codable,
        C.Parent.State: Codable, C.Parent.Activity: Codable
    {
        try self.init(
            name: name, activities: activities, examples: examples, makePart: SessionMaker(make))
    }

    /// Hosts a Cycler that is a part of another one and knows its session.
    ///
    /// - Throws: ``RegistrationFailure``, naming every fault.
    package init<C: ActionCycler & ModularCycler & SendableMetatype>(
        name: String, activities: [String], examples: [C.Action], makePart make: SessionMaker<C>
    ) throws(RegistrationFailure)
    where
        C.Action: Codable, C.State: Codable, C.Activity: Codable,
        C.Parent: ActionCycler & SendableMetatype, C.Parent.Action: Codable,
        C.Parent.State: Codable, C.Parent.Activity: Codable
    {
        try self.init(
            name: name, activities: activities, examples: examples, makeCycler: make
        ) { part, session in
            if let mailbox = CyclerMachine<C.Parent>.mailbox(from: session) {
                part.parent.link(through: mailbox)
            }
        }
    }

    private init<C: ActionCycler & SendableMetatype>(
        name: String, activities: [String], examples: [C.Action],
        makeCycler make: SessionMaker<C>, link: (@Sendable (C, Session) -> Void)?
    ) throws(RegistrationFailure)
    where C.Action: Codable, C.State: Codable, C.Activity: Codable {
        let first = make.example()
        let initial = first.state.value
        let fields = JSON.pulses(of: initial)
        try self.init(
            name: name, stateVersion: C.stateVersion, input: make.input, initial: initial,
            fields: fields, activity: C.Activity.self, activities: activities, examples: examples,
            faults: Self.faults(inState: initial)
                + Self.faults(inActivity: C.Activity.self, announced: activities)
                + Self.faults(in: C.tags(of: initial))
                + Self.faults(inCasesOf: C.Activity.self, "activity")
                + Self.faults(inCasesOf: C.Action.self, "action"),
            makeFold: { (id, creation, snapshot) throws(RecoveryFault) in
                let cycler = try make.bind(id, creation)()
                return try CyclerFold<C>(cycler.state.value, pulses: fields, from: snapshot)
            }
        ) { (session, saved) throws(RecoveryFault) in
            try CyclerMachine(
                make.bind(session.id.text, session.feed.creation), pulses: fields,
                session: session, saved: saved, link: link)
        }
        announceTopics = { bus in for source in make.example().sources { source.announce(bus) } }
        listensToTopics = first.sources.contains { $0.topic != nil }
        topics = first.sources.compactMap { $0.isDecodable ? $0.topic : nil }
        cycler = ObjectIdentifier(C.self)
        hasTaggedActions = C.Action.self is any TaggedCodable.Type
        expiresAfter = C.expiresAfter
        hasTags = C.tags(of: initial).isDeclared
    }

    private init<Action: Codable & SendableMetatype, State: Codable, Activity: Codable>(
        name: String, stateVersion: Int, input: InputType?, initial: State,
        fields: [PulseField<State>], activity: Activity.Type, activities: [String],
        examples: [Action], faults found: [String],
        makeFold: @escaping EventCatalog.MakeFold,
        makeMachine:
            @escaping @Sendable (Session, SavedSession?) throws(RecoveryFault) ->
            any Machine
    ) throws(RegistrationFailure) {
        var faults = Self.faults(inName: name) + found
        for field in fields where !field.isEncodable {
            faults.append("the value of the pulse \(field.name) is not Encodable")
        }
        for path in JSON.innerPulses(of: State.self) {
            faults.append(
                "the pulse \(path) is not a field of the state itself, so it can't be streamed; "
                    + "declare it in the state")
        }
        if fields.count > 64 {
            faults.append("the state has \(fields.count) pulses; 64 is the limit")
        }
        faults += EventName.faults(in: fields.map(\.name) + activities)
        var encodedExamples: [[UInt8]] = []
        for example in examples {
            var bytes: [UInt8] = []
            do {
                try JSON.encode(example, into: &bytes)
                encodedExamples.append(bytes)
            } catch {
                faults.append("the example \(example) can't be encoded: \(error)")
            }
        }
        guard faults.isEmpty else { throw RegistrationFailure(reactor: name, faults: faults) }
        self.name = name
        self.stateVersion = stateVersion
        events = EventCatalog(
            of: name, pulses: fields.map(\.name), properties: fields.map(\.property),
            activities: activities, makeFold: makeFold)
        self.examples = encodedExamples
        self.input = input
        self.schemas = ReactorSchemas(
            input: input?.schema, action: Action.self, examples: encodedExamples, initial: initial,
            fields: fields, activity: activity, activities: activities)
        self.makeMachine = makeMachine
        refusal = { bytes in
            do throws(JSONRefusal) {
                _ = try JSON.decode(Action.self, stored: bytes)
                return nil
            } catch {
                return error
            }
        }
    }

    /// Rebuilds the state of a session as its load does, and discards it: no effect runs, and no
    /// source is opened.
    ///
    /// - Returns: a sentence for each timer whose action this program cannot read.
    package func rehearse(_ saved: SavedSession) throws(RecoveryFault) -> [String] {
        _ = try Generation(saved: saved.key)
        _ = try fold(of: saved)
        return saved.timers.compactMap { refusal($0.content).map($0.isUnreadable) }
    }

    /// Rebuilds the state of a session, without a machine.
    ///
    /// - Throws: what a load of the session would throw.
    func fold(of saved: SavedSession) throws(RecoveryFault) -> any StateFold {
        let fold = try events.makeFold(saved.key.session, saved.creation, saved.snapshot)
        try fold.applyAll(of: saved, in: stateVersion)
        return fold
    }

    private static func faults(inName name: String) -> [String] {
        let isPlain = name.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isPlain && (1...64).contains(name.utf8.count) || name == topicName else {
            return ["the name must be 1 to 64 of A-Z a-z 0-9 - _"]
        }
        return []
    }
}

/// Why a reactor can't be hosted.
@usableFromInline
package struct RegistrationFailure: Error, CustomStringConvertible {
    package let reactor: String
    package let faults: [String]

    @usableFromInline
    package var description: String {
        "the reactor \"\(reactor)\" can't be hosted: " + faults.joined(separator: "; ")
    }
}
