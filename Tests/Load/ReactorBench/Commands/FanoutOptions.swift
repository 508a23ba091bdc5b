import ArgumentParser

/// The options of a whole fan-out: shared by `fanout`, `stall` and `mixed`.
struct FanoutOptions: ParsableArguments {
    @OptionGroup var streams: StreamOptions
    @OptionGroup var publishing: PublishOptions

    func validate() throws {
        let readers = streams.subscribers * streams.sessionsPerStream
        let entries = readers.multipliedReportingOverflow(by: publishing.publishers)
        guard !entries.overflow, entries.partialValue <= MarkLedger.entryLimit else {
            throw ValidationError(
                "--subscribers × --sessions-per-stream × --publishers:"
                    + " expected at most \(MarkLedger.entryLimit)")
        }
    }
}
