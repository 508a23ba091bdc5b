import Glibc

/// Drives the Swift client for `.ci/conformance`: commands on standard input, replies and events on
/// standard output, one JSON object a line (`ClientConformance` in ReactorHosting.docc).
@main
enum Main {
    static func main() {
        let adapter = Adapter()
        // This thread reads and begins; what a command waits for is a task. So commands begin in
        // their order, and a runner that is ahead waits in the pipe.
        while let line = readLine() { adapter.perform(line) }
        exit(0)
    }
}
