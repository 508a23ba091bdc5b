/// The checks of each event.
struct DeliveryChecks: Equatable, Sendable {
    var ids: IDScheme = .consecutive
    /// Whether events carry marks.
    var marks = true
    /// Whether `event:` names are the service's own (`snapshot`, `reset`, `end`, `ping`, …).
    var serviceEvents = true
}
