/// The place of a value in the history of its topic's session (ADR-0078).
package struct TopicPosition: Sendable, Hashable, Codable {
    /// Of the session. It gets another one with each era of the journal.
    package let generation: String
    /// Of the record; 0: nothing was published yet. Another era has lost no more than the last
    /// values: the others keep their numbers.
    package let number: UInt64

    package init(_ generation: String, _ number: UInt64) {
        self.generation = generation
        self.number = number
    }

    /// Whether a reader that has read up to here has read `other`. Both may be of different eras:
    /// what a session has read in the journal is never ahead of the topic there.
    package func includes(_ other: TopicPosition) -> Bool { number >= other.number }
}

/// Has the earlier values of topics.
package protocol TopicHistory: Sendable {
    /// Reads the values after `start`, up to the number `last`, in the present era: the first ones,
    /// at least one if there is any. Values that are no longer kept are left out.
    ///
    /// - Returns: nil if the calling task was cancelled before they could be read.
    func values(
        of topic: String, after start: TopicPosition, through last: UInt64
    ) async -> TopicPage?
}

/// Consecutive values of a topic.
package struct TopicPage: Sendable {
    package let values: [(place: TopicPosition, value: any TopicDecoder)]
    /// Up to where there are no others: the place of the last value; or, if there is none, of the
    /// last one that was asked for, but no place after the topic's end.
    package let end: TopicPosition

    package init(_ values: [(place: TopicPosition, value: any TopicDecoder)], to end: TopicPosition)
    {
        self.values = values
        self.end = end
    }
}
