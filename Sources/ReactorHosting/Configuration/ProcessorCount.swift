#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The number of online processors (sysconf(3), `_SC_NPROCESSORS_ONLN`); 1 if it is unknown.
enum ProcessorCount {
    static var available: Int {
        max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    }
}
