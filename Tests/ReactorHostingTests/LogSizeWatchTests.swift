import Testing

@testable import ReactorHosting

@Suite("A long write-ahead log is a warning, once", .timeLimit(.minutes(60)))
struct LogSizeWatchTests {
    @Test func `the warning comes again only after the log was short`() {
        let watch = LogSizeWatch()
        let mebibyte = 1_048_576
        let sizes = [0, 24, 128, 129, 300, 130, 100, 140, 95, 129, 129]
        let warned = sizes.map { watch.look(at: $0 * mebibyte) }
        #expect(
            warned == [
                false, false, false, true, false, false, false, false, false, true, false,
            ])
    }
}
