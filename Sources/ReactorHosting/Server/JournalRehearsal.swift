internal import Feeds
internal import Sessions
internal import Storage

/// Rebuilds every session of a journal with the reactors of this program, as a load after a
/// deployment does, and discards the states. No effect runs and no source is opened.
struct JournalRehearsal {
    /// The sessions that are named; further ones are counted.
    static let namedLimit = 100
    /// Pairs of reactor and `stateVersion` that are counted apart; further ones count together.
    static let formLimit = 100
    /// The median is that of the first sessions, at most this number: four bytes each.
    static let timesLimit = 1_000_000

    /// The form in which a session is saved.
    struct Form: Hashable {
        var reactor: String
        /// Of its snapshot; nil: it has no snapshot, and its mutations are read in the
        /// present form.
        var stateVersion: Int?
    }

    private let reactors: [String: Registration]
    private(set) var sessions = 0
    /// A sentence for each of the first sessions that would not wake or would lose timers.
    private(set) var faults: [String] = []
    private(set) var faultCount = 0
    private(set) var lostTimers = 0
    private(set) var forms: [Form: Int] = [:]
    private(set) var otherForms = 0
    /// Microseconds.
    private var times: [UInt32] = []
    private var longest: (time: Duration, session: String)?

    init(_ registrations: [Registration]) {
        let all = registrations + [.topic]
        reactors = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }
    }

    mutating func run(on path: String) throws(JournalFileFault) {
        try JournalSessions(path).each { id, reactor, load in
            sessions += 1
            let began = ContinuousClock.now
            do throws(JournalFileFault) {
                let saved = try load()
                count(Form(reactor: reactor, stateVersion: saved.snapshot?.stateVersion))
                if rebuild(saved) { count(ContinuousClock.now - began, of: id) }
            } catch {
                add("session \(id) of \(reactor) cannot be read: \(error.reason)")
            }
        }
    }

    private mutating func rebuild(_ saved: SavedSession) -> Bool {
        do throws(RecoveryFault) {
            guard let registration = reactors[saved.reactor] else {
                throw .notHosted(saved.reactor)
            }
            for reason in try registration.rehearse(saved) {
                lostTimers += 1
                let session = "session \(saved.key.session) of \(saved.reactor)"
                name("\(session) would lose a timer: \(reason)")
            }
            return true
        } catch {
            add(
                "session \(saved.key.session) of \(saved.reactor) would be quarantined: "
                    + "\(error.place): \(error.reason)")
            return false
        }
    }

    private mutating func add(_ fault: String) {
        faultCount += 1
        name(fault)
    }

    private mutating func name(_ fault: String) {
        if faults.count < Self.namedLimit { faults.append(fault) }
    }

    private mutating func count(_ form: Form) {
        guard forms[form] != nil || forms.count < Self.formLimit else { return otherForms += 1 }
        forms[form, default: 0] += 1
    }

    private mutating func count(_ time: Duration, of session: String) {
        if times.count < Self.timesLimit {
            times.append(UInt32(clamping: Int64(time / .microseconds(1))))
        }
        if time > longest?.time ?? .zero { longest = (time, session) }
    }

    /// The sessions that would not wake, then a table of the forms, then the totals.
    var report: String {
        var lines = faults
        let more = faultCount + lostTimers - faults.count
        if more > 0 { lines.append("and \(more) more") }
        if !forms.isEmpty { lines.append(table) }
        if otherForms > 0 {
            lines.append("sessions of further reactors and versions: \(otherForms)")
        }
        lines.append("\(sessions) sessions: \(faultCount) would be quarantined or cannot be read")
        if lostTimers > 0 { lines.append("\(lostTimers) timers would be lost") }
        if let longest {
            let median = Duration.microseconds(times.sorted()[times.count / 2])
            lines.append(
                "waking takes \(LogMilliseconds(median)) ms in the median, "
                    + "\(LogMilliseconds(longest.time)) ms at most (session \(longest.session))")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private var table: String {
        let rows = forms.sorted {
            ($0.key.reactor, $0.key.stateVersion ?? .min)
                < ($1.key.reactor, $1.key.stateVersion ?? .min)
        }.map { form, count in
            [
                form.reactor, form.stateVersion.map(String.init) ?? "no snapshot",
                reactors[form.reactor].map { String($0.stateVersion) } ?? "not hosted",
                String(count),
            ]
        }
        return TextTable.lines([["reactor", "stateVersion", "present", "sessions"]] + rows)
    }
}
