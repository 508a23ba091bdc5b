/// How many subscribers the streams of one loop have, those of ended sessions included as long as
/// their connections are open.
final class SubscriberTally {
    var count = 0
}
