/// The readers of a session that another node has sent. To the owner, a node that follows the
/// session sends its own readers. The owner sends that node all other readers.
package struct PresencePart: Hashable, Sendable {
    private let link: UInt64
    private let stream: UInt32

    package init(link: UInt64, stream: UInt32) { (self.link, self.stream) = (link, stream) }

    /// The owner, at a node that follows. No link has this number.
    package static let owner = PresencePart(link: .max, stream: 0)
}

// The parts of other nodes.
extension Feed {
    /// Whether some reader has had a name or has got `presence` events.
    package var hasPresence: Bool { presence != nil }

    /// Another node sends its readers.
    ///
    /// - Parameter present: Nil: the node has no more readers, or is gone. The grace of its names
    ///   begins.
    package func setPresence(_ present: PresentReaders?, from part: PresencePart) {
        guard present != nil || presence != nil else { return }
        openPresence().set(present, from: part)
    }

    /// Another node needs the readers here, if there is a presence.
    package func presenceIsWanted() { presence?.showAgain() }

    /// Sends another node the readers that it does not know, unless it already has the same ones.
    ///
    /// - Parameter send: Returns false to be called again a second later.
    package func sendPresence(to part: PresencePart, _ send: (PresentReaders) -> Bool) {
        presence?.send(to: part, send)
    }
}
