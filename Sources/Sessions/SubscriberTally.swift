/// The number of subscribers of one loop. A subscriber of an ended session counts until its
/// connection is closed.
final class SubscriberTally {
    var count = 0
}
