internal import CCrash

/// Records the current work of one loop, so that a restart can report it if the process ends.
///
/// Begin and end cost a few stores each; the names are copied when the session changes. Only for
/// one loop: it is not `Sendable`.
@safe package final class CrashSlot {
    /// The kind of reactor code that is called. The raw values are those in the file.
    package enum Work: UInt64, Sendable {
        case action = 1
        case effect = 2
        case rebuilding = 3
        case reading = 4
    }

    private let slot: UnsafeMutablePointer<crash_slot>
    /// The owner of the memory; nil: the slot itself.
    private let record: CrashRecord?
    /// The owner of the named session: a number above 0, chosen by the caller.
    private var owner: UInt64 = 0

    package init() {
        unsafe slot = .allocate(capacity: 1)
        unsafe slot.initialize(to: crash_slot())
        record = nil
    }

    init(_ slot: UnsafeMutablePointer<crash_slot>, of record: CrashRecord) {
        unsafe self.slot = slot
        self.record = record
    }

    deinit {
        if record == nil { unsafe slot.deallocate() }
    }

    package func names(_ owner: UInt64) -> Bool { self.owner == owner }

    /// Names the session whose work follows.
    ///
    /// - Parameters:
    ///   - session: Its id; bytes beyond 128 are omitted.
    ///   - reactor: Its reactor's name; bytes beyond 64 are omitted.
    package func name(_ session: String, _ reactor: String, owner: UInt64) {
        self.owner = owner
        var (session, reactor) = (session, reactor)
        session.withUTF8 { session in
            reactor.withUTF8 { reactor in
                unsafe crash_name(
                    slot, owner, session.baseAddress, UInt8(clamping: session.count),
                    reactor.baseAddress, UInt8(clamping: reactor.count))
            }
        }
    }

    /// Records the start of a call of a reactor's code.
    ///
    /// - Parameter action: The number of its action; 0: none.
    package func begin(_ work: Work, action: UInt64) {
        unsafe crash_begin(slot, work.rawValue, action)
    }

    package func end() { unsafe crash_end(slot) }

    package var reader: CrashSlotReader { unsafe CrashSlotReader(slot, of: self) }

    /// Whether a call has begun and not ended.
    package var isBusy: Bool { unsafe slot.pointee.work != 0 }
}

/// The work of a loop when its process ended.
package struct InterruptedWork: Sendable, Equatable {
    /// The source of the information.
    package enum Trace: Sendable, Equatable {
        /// A loop was executing it.
        case loop(CrashSlot.Work)
        /// Its effects were running; they were begun `begun` times.
        case running(begun: Int)
    }

    package var session: String
    package var reactor: String
    /// The action's number within its session; 0: none.
    package var action: UInt64
    package var trace: Trace

    package init(session: String, reactor: String, action: UInt64, trace: Trace) {
        self.session = session
        self.reactor = reactor
        self.action = action
        self.trace = trace
    }
}

extension InterruptedWork.Trace {
    /// Whether the work may have ended the process; effects also run when a server is stopped.
    package var isCause: Bool {
        switch self {
        case .loop: true
        case .running(let begun): begun > 1
        }
    }
}

extension InterruptedWork: CustomStringConvertible {
    /// A sentence for a log.
    package var description: String {
        let target = "session \(session) of reactor \(reactor)"
        return switch trace {
        case .loop(.action):
            "the process ended while \(target) was carrying out action \(action)"
        case .loop(.effect) where action > 0:
            "the process ended while \(target) was applying the output of an effect of "
                + "action \(action)"
        case .loop(.effect):
            "the process ended while \(target) was applying the output of a source"
        case .loop(.rebuilding):
            "the process ended while \(target) was being made or rebuilt"
        case .loop(.reading):
            "the process ended while the state of \(target) was being read"
        case .running(let begun):
            "effects of action \(action) of \(target) were running when the process ended; "
                + "begun \(begun) of at most \(RunningAction.beginLimit) times"
        }
    }
}
