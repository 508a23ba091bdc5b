@testable import Sessions

extension ClusterSimulation {
    /// Counts of events in the lives of a test.
    struct Tally {
        var acknowledged = 0
        var claims = 0
        var fenced = 0
        var deposed = 0
        var unknown = 0
        var confirmed = 0
        var aged = 0
        var elsewhere = 0
        /// Blocks that readers have got.
        var heard = 0
        /// Questions of followers.
        var followed = 0
        var handedOver = 0
        var woken = 0
        var sentHome = 0
        /// Hints that were delivered, and those with records that were shown without a question.
        var hinted = 0
        var received = 0
        /// Looks at followed sessions with readers on another loop.
        var spread = 0
        /// Looks at followed sessions whose state is kept.
        var states = 0
        /// The number of acknowledged publications of a topic, and of gaps: times that a process
        /// has missed values between two others.
        var published = 0
        var topicGaps = 0
        /// The most claims of followers that were under way at one node.
        var claimsAtOnce = 0
        /// Streams that were closed because their records could not be read, and others
        /// of those nodes.
        var closed = 0
        var spared = 0
        /// Actions of parts that were applied over a link, those whose outcome is unknown, and
        /// those that changed nothing.
        var partsApplied = 0
        var partsUnknown = 0
        var partsRefused = 0
        var timersFired = 0
        var firingNodes = 0
        /// Lives in which more than one node has fired some.
        var livesOfSeveralNodes = 0
        /// Readers that have seen names of readers at other nodes.
        var presenceElsewhere = 0
        var calls: Set<ArchiveCall> = []
    }
}
