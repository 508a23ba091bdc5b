/// Connections with requests that wait for a turn: the round, or their last turn, is used up.
///
/// Design: two queues. A connection that has used up its turn waits after all others, so that
/// single requests do not wait for many ones. Each round gives a turn to at least one of either
/// (``WorkSchedule/servePostponed(_:)``), so none waits for ever.
struct TurnQueue<Element> {
    /// The share of its last turn that a connection has used.
    enum Weight {
        case light
        /// The connection has used up its requests or its bytes.
        case heavy
    }

    private var light: [Element] = []
    private var heavy: [Element] = []

    var isEmpty: Bool { light.isEmpty && heavy.isEmpty }

    func count(_ weight: Weight) -> Int {
        switch weight {
        case .light: light.count
        case .heavy: heavy.count
        }
    }

    mutating func append(_ element: Element, _ weight: Weight) {
        switch weight {
        case .light: light.append(element)
        case .heavy: heavy.append(element)
        }
    }

    /// Removes the connection that has waited longest.
    mutating func popFirst(_ weight: Weight) -> Element? {
        guard count(weight) > 0 else { return nil }
        switch weight {
        case .light: return light.removeFirst()
        case .heavy: return heavy.removeFirst()
        }
    }
}
