package import Wire

extension EventEncoder {
    /// Appends a whole event: CR LF, CR and LF each end a line of the data.
    package static func appendEvent(
        name: String, id: String?, cause: String? = nil, data: String, to out: inout [UInt8]
    ) {
        out += "event: \(name)\n".utf8
        if let id { out += "id: \(id)\n".utf8 }
        if let cause { out += "cause: \(cause)\n".utf8 }
        let isEnd: (Character) -> Bool = { $0 == "\r\n" || $0 == "\r" || $0 == "\n" }
        for line in data.split(omittingEmptySubsequences: false, whereSeparator: isEnd) {
            out += "data: \(line)\n".utf8
        }
        out += "\n".utf8
    }
}
