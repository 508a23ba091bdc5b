internal import CFuzzer
#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// A program that libFuzzer drives: it makes inputs for `LLVMFuzzerTestOneInput`, and keeps the one
/// that ends the process.
package protocol FuzzTarget {}

extension FuzzTarget {
    /// Runs libFuzzer with the process's arguments.
    package static func main() {
        exit(unsafe runFuzzer(CommandLine.argc, CommandLine.unsafeArgv))
    }
}
