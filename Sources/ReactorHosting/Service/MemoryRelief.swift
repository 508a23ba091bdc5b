internal import Dispatch

#if canImport(Glibc)
    internal import CMalloc
#else
    internal import Darwin
#endif

/// Gives memory that is free within the heap back to the system: glibc keeps it for itself for as
/// long as anything behind it is in use (malloc_trim(3)).
enum MemoryRelief {
    private static let queue = DispatchQueue(label: "memory.relief", qos: .utility)

    /// Returns at once; some milliseconds' work for a hundred megabytes, on a thread of its own.
    static func begin() {
        queue.async {
            #if canImport(Glibc)
                _ = malloc_trim(0)
            #else
                _ = unsafe malloc_zone_pressure_relief(nil, 0)
            #endif
        }
    }
}
