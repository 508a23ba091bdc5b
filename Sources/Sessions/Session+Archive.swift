internal import Feeds
internal import Storage

// Reads of the archive.
extension Session {
    /// Begins a read of the archive. The session stays in memory until ``endArchiveRead()``.
    func beginArchiveRead() { feed.beginArchiveRead() }

    func endArchiveRead() { feed.endArchiveRead() }

    /// Replies to a request whose answer was read from the archive. The answer depends on no
    /// uncommitted step and waits for none.
    func answerReader(_ token: UInt64, _ content: Reply.Content) {
        guard persistence?.readers.remove(token) != nil else { return }
        table.output.reply(content, to: token)
    }
}
