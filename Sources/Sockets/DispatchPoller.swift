// One read source for each connection, and a write source for each that ever had to wait for room.
// Dispatch's descriptor sources are level-triggered: they fire again until the cause is gone. So
// - an event is handled inside its handler, before the source is armed again;
// - the read source of a connection is suspended while it is not read (paused, or at its end);
// - a write source runs only while the connection waits for room.
//
// A suspended source does not run its cancel handler, and releasing a suspended source traps: code
// that cancels also resumes. A descriptor is closed only after its sources' cancel handlers have
// run: before that its number must not be reused for another file.
import Dispatch

/// Plain Dispatch sources: for platforms without epoll, and to prove that no code depends on epoll.
final class DispatchPoller: Poller {
    private struct Registration {
        let generation: UInt32
        let descriptor: Int32
        let reader: any DispatchSourceRead
        var readerRuns: Bool
        var writer: (any DispatchSourceWrite)?
        var writerRuns = false
    }

    /// Counts down the cancel handlers of one connection's sources. Confined to the loop's queue.
    private final class Countdown {
        var left: Int
        init(_ left: Int) { self.left = left }
    }

    private var registrations: [Registration?] = []
    private var queue: DispatchQueue?
    private var fired: (@Sendable (PollEvent?) -> Void)?
    /// Entered for every pending cancellation, so that `stop` also waits for earlier ones.
    private let cancellations = DispatchGroup()

    // A source's event and the read happen at different times; only EAGAIN or the end is final.
    var shortReadMeansDrained: Bool { false }

    func start(on queue: DispatchQueue, fired: @escaping @Sendable (PollEvent?) -> Void) {
        self.queue = queue
        self.fired = fired
    }

    func poll(into events: inout [PollEvent]) -> Bool { false }

    // Events arrive on the loop's queue, which a wait would hold up.
    var alarm: LoopAlarm? { nil }

    func wait(nanoseconds: Int64) {}

    func add(_ descriptor: Int32, _ id: ConnectionID) throws(SystemFailure) {
        guard let fired else {
            preconditionFailure("a poller takes connections once it is started")
        }
        let slot = Int(id.slot)
        while registrations.count <= slot { registrations.append(nil) }
        let reader = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        reader.setEventHandler { fired(PollEvent(id: id, readiness: [.readable, .readToEnd])) }
        registrations[slot] = Registration(
            generation: id.generation, descriptor: descriptor, reader: reader, readerRuns: true)
        reader.activate()
    }

    func setReading(_ wanted: Bool, _ id: ConnectionID) {
        guard let registration = registrations[Int(id.slot)],
            registration.generation == id.generation, registration.readerRuns != wanted
        else { return }
        registrations[Int(id.slot)]?.readerRuns = wanted
        if wanted { registration.reader.resume() } else { registration.reader.suspend() }
    }

    func awaitRoom(_ id: ConnectionID) {
        guard let registration = registrations[Int(id.slot)],
            registration.generation == id.generation, !registration.writerRuns
        else { return }
        registrations[Int(id.slot)]?.writerRuns = true
        if let writer = registration.writer {
            writer.resume()
        } else {
            let writer = makeWriter(registration.descriptor, id)
            registrations[Int(id.slot)]?.writer = writer
            writer.activate()
        }
    }

    func roomArrived(_ id: ConnectionID) {
        guard let registration = registrations[Int(id.slot)],
            registration.generation == id.generation, registration.writerRuns
        else { return }
        registrations[Int(id.slot)]?.writerRuns = false
        registration.writer?.suspend()
    }

    func close(_ descriptor: Int32, _ id: ConnectionID) {
        cancel(id, thenClose: descriptor)
    }

    func release(_ descriptor: Int32, _ id: ConnectionID) throws(SystemFailure) -> Int32 {
        // The sources use their number until they are cancelled; the connection gets a new one.
        let copy = try SocketCalls.duplicate(descriptor)
        cancel(id, thenClose: descriptor)
        return copy
    }

    func stop(_ group: DispatchGroup) {
        fired = nil
        guard let queue else { return }
        group.enter()
        cancellations.notify(queue: queue) { group.leave() }
    }

    private func makeWriter(_ descriptor: Int32, _ id: ConnectionID) -> any DispatchSourceWrite {
        guard let fired else { preconditionFailure("a poller waits for room while it runs") }
        let writer = DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
        writer.setEventHandler { fired(PollEvent(id: id, readiness: .writable)) }
        return writer
    }

    private func cancel(_ id: ConnectionID, thenClose descriptor: Int32) {
        let slot = Int(id.slot)
        guard let registration = registrations[slot], registration.generation == id.generation
        else {
            SocketCalls.close(descriptor)
            return
        }
        registrations[slot] = nil
        let countdown = Countdown(registration.writer == nil ? 1 : 2)
        cancellations.enter()
        // Cancel handlers run on the loop's own serial queue, so the countdown needs no lock.
        let cancelled = { [cancellations] in
            countdown.left -= 1
            guard countdown.left == 0 else { return }
            SocketCalls.close(descriptor)
            cancellations.leave()
        }
        registration.reader.setCancelHandler(handler: cancelled)
        registration.reader.cancel()
        if !registration.readerRuns { registration.reader.resume() }
        if let writer = registration.writer {
            writer.setCancelHandler(handler: cancelled)
            writer.cancel()
            if !registration.writerRuns { writer.resume() }
        }
    }
}
