/// The checks that apply to each event.
struct DeliveryChecks: Equatable, Sendable {
    var ids: IDScheme = .consecutive
    /// Whether events carry marks.
    var marks = true
    /// Whether the service itself sends `event:` names (`snapshot`, `reset`, `end`, `ping`, …).
    var serviceEvents = true
}
