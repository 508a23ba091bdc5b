internal import Feeds
internal import Storage

// Reads of the archive.
extension Session {
    /// Begins a read of the archive. The session stays in memory until ``endArchiveRead()``.
    func beginArchiveRead() { feed.beginArchiveRead() }

    func endArchiveRead() { feed.endArchiveRead() }
}
