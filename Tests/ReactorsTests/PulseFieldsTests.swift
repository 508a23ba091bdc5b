import Reactors
import Testing

@Suite("The pulses of a state are found when its reactor is registered", .timeLimit(.minutes(60)))
struct PulseFieldsTests {
    private struct Opaque {}

    private struct Part { @Pulse var hidden = 1 }

    private struct State {
        var plain = 1
        @Pulse var alertMessage: String?
        let constant = "x"
        var part = Part()
        @Pulse var items: [Int] = []
        @Pulse var opaque = Opaque()
        var spelledOut = Pulse(wrappedValue: 1.5)
    }

    private struct Collector: PulseValueVisitor {
        var seen: [String] = []

        mutating func visit<Value: Encodable>(_ value: Value) {
            seen.append("\(Value.self) \(value)")
        }
    }

    @Test func `a state's own pulses are listed in declaration order, nested ones are not`() {
        let fields = PulseFields.discover(State.self)
        #expect(fields.map(\.name) == ["alertMessage", "items", "opaque", "spelledOut"])
        #expect(fields.map(\.isEncodable) == [true, true, false, true])
    }

    @Test func `a state that is no struct has no pulses`() {
        #expect(PulseFields.discover(EffectPolicy.self).isEmpty)
        #expect(PulseFields.discover(CoreProbe<ScriptReactor>.self).isEmpty)
    }

    @Test func `a field's mark is that of its pulse`() {
        let fields = PulseFields.discover(State.self)
        var state = State()
        let before = fields.map { $0.mark(in: state) }
        state.items.append(1)
        state.plain = 2
        let after = fields.map { $0.mark(in: state) }
        let assigned = zip(after, before).map { $0.isAssignment(since: $1) }
        #expect(assigned == [false, true, false, false])
        #expect(after[1] == state.$items.mark)
    }

    @Test func `a field's value is returned with its own type`() {
        var collector = Collector()
        var state = State()
        state.alertMessage = "Hello"
        for field in PulseFields.discover(State.self) where field.isEncodable {
            field.withValue(in: state, &collector)
        }
        #expect(
            collector.seen == [
                "Optional<String> Optional(\"Hello\")", "Array<Int> []", "Double 1.5",
            ])
    }
}
