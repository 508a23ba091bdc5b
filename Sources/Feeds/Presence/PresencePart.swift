/// The readers of a session that one other node knows and this one does not: those of a node that
/// follows the session, or at such a node those of the owner and all others.
package struct PresencePart: Hashable, Sendable {
    private let link: UInt64
    private let stream: UInt32

    package init(link: UInt64, stream: UInt32) { (self.link, self.stream) = (link, stream) }

    /// At a node that follows. No link has this number.
    package static let owner = PresencePart(link: .max, stream: 0)
}

// The parts of other nodes.
extension Feed {
    /// Whether some reader has had a name or has got `presence` events.
    package var hasPresence: Bool { presence != nil }

    /// Another node sends its readers.
    ///
    /// - Parameter present: nil: the node knows no more, or is gone. Its names have their grace.
    package func setPresence(_ present: PresentReaders?, from part: PresencePart) {
        guard present != nil || presence != nil else { return }
        openPresence().set(present, from: part)
    }

    /// Another node has to be sent the readers here, if there is a presence.
    package func presenceIsWanted() { presence?.showAgain() }

    /// Sends another node the readers that it does not know, unless it was sent the same.
    ///
    /// - Parameter send: returns false if they are to be sent again a second later.
    package func sendPresence(to part: PresencePart, _ send: (PresentReaders) -> Bool) {
        presence?.send(to: part, send)
    }
}
