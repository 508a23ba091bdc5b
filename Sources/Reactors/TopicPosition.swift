/// The place of a value in the history of its topic's session (ADR-0078).
package struct TopicPosition: Sendable, Hashable, Codable {
    /// The generation of the topic's session. Each era of the journal has a new one.
    package let generation: String
    /// The number of the record; 0: nothing was published yet. In a new era the last values may be
    /// lost; all others keep their numbers.
    package let number: UInt64

    package init(_ generation: String, _ number: UInt64) {
        self.generation = generation
        self.number = number
    }

    /// Whether a reader that has read up to here has read `other`. The two may be from different
    /// eras, because in a journal a session is never ahead of the topic that it reads.
    package func includes(_ other: TopicPosition) -> Bool { number >= other.number }
}

/// Reads earlier values of topics.
package protocol TopicHistory: Sendable {
    /// Reads the next page of values after `start`, up to the number `last`, in the present era.
    /// The page has at least one value if there is any. Values that are no longer kept are left
    /// out.
    ///
    /// - Returns: nil if the calling task was cancelled before they could be read.
    func values(
        of topic: String, after start: TopicPosition, through last: UInt64
    ) async -> TopicPage?
}

/// Consecutive values of a topic.
package struct TopicPage: Sendable {
    package let values: [(place: TopicPosition, value: any TopicDecoder)]
    /// The place up to which the page is complete. This is the place of its last value. If the page
    /// is empty, it is the last place that was requested, or the topic's end if that is earlier.
    package let end: TopicPosition

    package init(_ values: [(place: TopicPosition, value: any TopicDecoder)], to end: TopicPosition)
    {
        self.values = values
        self.end = end
    }
}
