/// The estimates of the sizes of one session's values.
struct SizeMeters {
    var mutation = MutationMeter()
    var state = StateMeter()
}
