import ArgumentParser

/// The options of a whole fan-out: shared by `fanout`, `stall` and `mixed`.
struct FanoutOptions: ParsableArguments {
    @OptionGroup var streams: StreamOptions
    @OptionGroup var publishing: PublishOptions

    func validate() throws {
        let entries = streams.subscribers.multipliedReportingOverflow(by: publishing.publishers)
        guard !entries.overflow, entries.partialValue <= MarkLedger.entryLimit else {
            throw ValidationError(
                "--subscribers × --publishers: expected at most \(MarkLedger.entryLimit)")
        }
    }
}
