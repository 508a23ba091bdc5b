#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Processors that are online now (sysconf(3), `_SC_NPROCESSORS_ONLN`); 1 if nobody knows.
enum ProcessorCount {
    static var available: Int {
        max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    }
}
