package import Feeds
package import Sockets
package import Wire

/// The memory that the traffic of links may use, and the answers for when it is used up.
package struct LinkBudget {
    /// Counts the bytes of requests from other nodes that have arrived only in part.
    let requests: ByteBudget<AddressNetwork>
    /// The answer to a request for which there is no room. The rest of the request is skipped.
    let requestRefusal: LinkAnswer
    /// Counts the bytes of large answers that have arrived only in part.
    let answers: WorkBudget
    /// Replaces an answer for which there is no room.
    let answerRefusal: LinkAnswer

    package init(
        requests: ByteBudget<AddressNetwork>, requestRefusal: LinkAnswer, answers: WorkBudget,
        answerRefusal: LinkAnswer
    ) {
        self.requests = requests
        self.requestRefusal = requestRefusal
        self.answers = answers
        self.answerRefusal = answerRefusal
    }
}
