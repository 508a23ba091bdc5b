/// Counts the bytes of states that one pass of a loop encodes, decodes and searches.
///
/// Why: a request of a few bytes makes work in proportion to a state. One state of the largest size
/// takes a loop about 50 ms, so a pass works on one of them, and leaves the rest to the next
/// passes.
package final class PassMeter {
    /// The bytes after which a pass begins no other work on states. The last work may exceed it.
    package var limitBytes = 4 << 20
    /// The bytes of the present pass.
    package private(set) var bytes = 0
    /// The bytes of events without states that one pass frames, for the streams of all feeds
    /// together. The next passes frame the rest.
    package var eventLimit = 8 << 20
    /// The bytes of events that a later pass frames for each feed, even if the limit is used up.
    package var leastEvents = 65_536
    private var eventBytes = 0
    /// The lengths of states and parts that are sent as patches (ADR-0087). Shorter ones gain
    /// little. Longer ones take most of a pass to encode, and comparing them would take as long.
    package var patchedBytes = 4_096...(8 << 20)
    /// The bytes that the histories of all feeds together may keep beyond their limits, for streams
    /// that lag: two turns of the largest size. Beyond that, the readers of those streams fall
    /// behind.
    package var lagLimit = 64 << 20
    private var lagBytes = 0
    /// The most bytes of a pass so far.
    var most = 0
    var mostEvents = 0

    package var isUsedUp: Bool { bytes >= limitBytes }

    package func count(_ bytes: Int) { self.bytes += bytes }

    /// The work of comparing states for patches, in bytes; a part of ``bytes``.
    private(set) var patchWork = 0

    func countPatch(_ work: Int) {
        patchWork += work
        bytes += work
    }

    /// The room for further events in the present pass.
    var eventRoom: Int { max(0, eventLimit - eventBytes) }

    func countEvents(_ bytes: Int) { eventBytes += bytes }

    /// The room for further lag.
    var lagRoom: Int { lagLimit - lagBytes }

    func countLag(_ bytes: Int) { lagBytes += bytes }

    package func end() {
        mostEvents = max(mostEvents, eventBytes)
        eventBytes = 0
        most = max(most, bytes)
        (bytes, patchWork) = (0, 0)
    }
}
