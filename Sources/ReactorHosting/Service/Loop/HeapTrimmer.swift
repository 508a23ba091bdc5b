internal import Dispatch
internal import Sockets

#if canImport(Glibc)
    internal import CMalloc
#else
    internal import Darwin
#endif

/// Returns free heap memory to the system after connections have released much of it: glibc keeps
/// it while memory at a higher address is in use (malloc_trim(3)).
final class HeapTrimmer {
    private static let queue = DispatchQueue(label: "heap.trimmer", qos: .utility)
    static let burstBytes = 16 << 20

    /// Larger blocks get pages of their own from the system, and return them when they are freed.
    private static let mappedBytes: Int32 = 4 << 20
    /// More threads than this seldom allocate at the same time: a loop uses two processors.
    private static let arenas: Int32 = 8
    /// The longest free end of a thread's arena.
    ///
    /// Why not less: bodies of a megabyte let the end grow and shrink by 4 MiB a hundred times a
    /// second. Each time the loop waited a millisecond for the system (madvise(2)).
    private static let retainedBytes: Int32 = 16 << 20

    /// Bounds the number of arenas and the memory that each of them keeps. Each arena reserves 64
    /// MiB of addresses, and glibc would make eight for each processor. glibc would also raise its
    /// limits to the largest freed block (mallopt(3), `M_MMAP_THRESHOLD`), and trimming does not
    /// reach the ends of arenas: some large bodies left 40 MiB for ever. These limits apply to the
    /// whole process, so they are not set in a program that contains a server.
    static func boundRetainedMemory() {
        #if canImport(Glibc)
            mallopt(M_MMAP_THRESHOLD, mappedBytes)
            mallopt(M_TRIM_THRESHOLD, retainedBytes)
            mallopt(M_ARENA_MAX, arenas)
        #endif
    }

    private let table: ConnectionTable
    private var freedBytes = 0
    private var trimmedAt: LoopInstant

    init(_ table: ConnectionTable) {
        self.table = table
        trimmedAt = table.now
    }

    /// Counts bytes that a connection has released. From 16 MiB on the heap is trimmed one second
    /// later, when more may have been released, and at most every ten seconds.
    func freed(_ bytes: Int) {
        guard bytes > 0 else { return }
        let before = freedBytes
        freedBytes += bytes
        guard before < Self.burstBytes, freedBytes >= Self.burstBytes else { return }
        table.setTimer(
            token: LoopTimer.heap.rawValue,
            at: max(table.now + .seconds(1), trimmedAt + .seconds(10)))
    }

    func timerReached() {
        freedBytes = 0
        trimmedAt = table.now
        Self.trim()
    }

    /// Returns at once. Another thread needs some milliseconds for a hundred megabytes.
    static func trim() {
        queue.async {
            #if canImport(Glibc)
                _ = malloc_trim(0)
            #else
                _ = unsafe malloc_zone_pressure_relief(nil, 0)
            #endif
        }
    }
}
