internal import CCrash

/// Says what one loop is carrying out just now, so that it can be named should the process end.
///
/// To begin and to end costs a few stores each; the names are copied when the session is another
/// than before. For one loop alone: it is not `Sendable`.
@safe package final class CrashSlot {
    /// Which of a reactor's code is called. The numbers are those of the file.
    package enum Work: UInt64, Sendable {
        case action = 1
        case effect = 2
        case rebuilding = 3
        case reading = 4
    }

    private let slot: UnsafeMutablePointer<crash_slot>
    /// Whose memory it is; nil: its own.
    private let record: CrashRecord?
    /// The owner that the slot names: a number above 0, chosen by the caller.
    private var owner: UInt64 = 0

    /// A slot that nobody reads.
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

    /// Whether the slot names this owner.
    package func names(_ owner: UInt64) -> Bool { self.owner == owner }

    /// Names the session of which something is carried out from now on.
    ///
    /// - Parameters:
    ///   - session: its id; of more than 128 bytes the rest is left out.
    ///   - reactor: its reactor's name; the same with 64.
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

    /// A reactor's code is called next.
    ///
    /// - Parameter action: the number of the action that it belongs to; 0: none.
    package func begin(_ work: Work, action: UInt64) {
        unsafe crash_begin(slot, work.rawValue, action)
    }

    /// It has returned.
    package func end() { unsafe crash_end(slot) }
}

/// The work of a loop when its process ended.
package struct InterruptedWork: Sendable, Equatable {
    /// Where that was found.
    package enum Trace: Sendable, Equatable {
        /// A loop was in the middle of it.
        case loop(CrashSlot.Work)
        /// Its effects were running, so often begun.
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
    /// Whether it may be why the process ended; effects run as well when a server is stopped.
    package var isCause: Bool {
        switch self {
        case .loop: true
        case .running(let begun): begun > 1
        }
    }
}

extension InterruptedWork: CustomStringConvertible {
    /// One sentence.
    package var description: String {
        let whom = "session \(session) of reactor \(reactor)"
        return switch trace {
        case .loop(.action):
            "the process ended while \(whom) was carrying out action \(action)"
        case .loop(.effect) where action > 0:
            "the process ended while \(whom) took what an effect of action \(action) sent"
        case .loop(.effect):
            "the process ended while \(whom) took what a source brought"
        case .loop(.rebuilding):
            "the process ended while \(whom) was being made or rebuilt"
        case .loop(.reading):
            "the process ended while the state of \(whom) was being read"
        case .running(let begun):
            "effects of action \(action) of \(whom) were running when the process ended; "
                + "begun \(begun) of at most \(RunningAction.beginLimit) times"
        }
    }
}
