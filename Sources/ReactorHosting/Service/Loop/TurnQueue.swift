/// Connections with requests that wait for a turn: the round, or their last turn, is used up.
///
/// Design: two queues. A connection that has used up its turn waits after all others, so that
/// single requests do not wait for many ones. Each round gives a turn to at least one of either
/// (``WorkSchedule/servePostponed(_:)``), so none waits for ever.
struct TurnQueue<Element> {
    /// The share of its last turn that a connection has used.
    enum Weight: Int, CaseIterable {
        case light
        /// The connection has used up its requests or its bytes.
        case heavy
    }

    /// By weight.
    private var queues: [[Element]] = [[], []]

    var isEmpty: Bool { queues.allSatisfy(\.isEmpty) }

    func count(_ weight: Weight) -> Int { queues[weight.rawValue].count }

    mutating func append(_ element: Element, _ weight: Weight) {
        queues[weight.rawValue].append(element)
    }

    /// Removes the connection that has waited longest.
    mutating func popFirst(_ weight: Weight) -> Element? {
        queues[weight.rawValue].isEmpty ? nil : queues[weight.rawValue].removeFirst()
    }
}
