internal import Sockets

/// Limits the log to one line about a subject in ten seconds, so neither a recurring fault nor a
/// stranger fills the log.
struct LogLimit<Subject: Hashable> {
    private struct Line {
        var time: LoopInstant
        /// The lines that were omitted since.
        var omitted = 0
    }

    private let interval: Duration
    private var lines: [Subject: Line] = [:]

    /// The maximum number of remembered subjects. At the limit all are forgotten, so some may get a
    /// line early.
    private static var subjectLimit: Int { 1_000 }

    init(interval: Duration = .seconds(10)) { self.interval = interval }

    /// Decides about a line.
    ///
    /// - Returns: The number of lines about the subject that were omitted since the last one; nil:
    ///   this one is omitted, too.
    mutating func admit(_ subject: Subject, at now: LoopInstant) -> Int? {
        let last = lines[subject]
        if let last, now - last.time < interval {
            lines[subject]?.omitted += 1
            return nil
        }
        if last == nil, lines.count >= Self.subjectLimit { lines = [:] }
        lines[subject] = Line(time: now)
        return last?.omitted ?? 0
    }
}
