/// The body of an answer, in parts: what is large and may be shared by many answers stands between
/// what is made for one.
struct AnswerBody {
    var beginning: [UInt8] = []
    var shared: [UInt8]
    var end: [UInt8] = []

    init(_ body: [UInt8]) {
        shared = body
    }

    init(beginning: [UInt8], shared: [UInt8], end: [UInt8]) {
        self.beginning = beginning
        self.shared = shared
        self.end = end
    }

    /// Bytes of all parts.
    var count: Int { beginning.count + shared.count + end.count }
}
