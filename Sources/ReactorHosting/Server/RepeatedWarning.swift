/// Decides when a repeated warning is logged: when it changes, and once a minute.
struct RepeatedWarning {
    static let interval = Duration.seconds(60)

    private var last: (sentence: String, time: ContinuousClock.Instant)?

    mutating func isDue(_ sentence: String, at now: ContinuousClock.Instant) -> Bool {
        if let last, last.sentence == sentence, now - last.time < Self.interval { return false }
        last = (sentence, now)
        return true
    }
}
