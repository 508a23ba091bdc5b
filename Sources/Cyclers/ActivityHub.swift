/// Delivers the activities of one type that a cycler emits.
final class ActivityHub<Activity: Sendable>: ActivityHubProtocol {
    weak var observer: (any ActivityObserver<Activity>)?
    private var readers = SubscriptionList<Activity>()
    private var lastEmission: UInt64 = 0
    private var lastReader: UInt64 = 0

    var readerCount: Int { readers.count }

    /// Numbers a new emission: a reader that is added before the delivery does not receive it.
    func number() -> UInt64 {
        lastEmission += 1
        return lastEmission
    }

    func add(_ reader: Subscription<Activity>) {
        lastReader += 1
        readers.add(reader, lastReader, since: lastEmission)
    }

    func deliver(_ activity: Activity, _ number: UInt64, _ call: CyclerCall) {
        observer?.emitted(activity, by: call)
        for index in readers.beginDelivery() {
            guard let reader = readers.subscription(at: index, for: number) else { continue }
            if !reader.take(activity) { readers.leaves(at: index) }
        }
        readers.endDelivery()
    }

    func finishAll() { readers.finishAll() }
}

protocol ActivityHubProtocol: AnyObject {
    func finishAll()
}
