package import Wire

extension EventEncoder {
    /// Appends a whole event from strings.
    package static func appendEvent(
        name: String, id: String?, cause: String? = nil, data: String, to out: inout [UInt8]
    ) {
        appendEvent(
            name: Array(name.utf8), id: id.map { Array($0.utf8) },
            cause: cause.map { Array($0.utf8) }, data: Array(data.utf8), to: &out)
    }
}
