@testable import Cyclers

extension Storage {
    /// The number of subscribers, streams included.
    var subscriberCount: Int { core.subscriberCount }

    /// Whether there is a logger, or a stream of the log.
    var isLogged: Bool { core.isLogged }
}

extension Cycler {
    /// The number of streams of activities that have a reader.
    var activityReaderCount: Int { state.core.hub(for: Activity.self).readerCount }
}
