internal import Cyclers
internal import JSONCoding

extension CyclerCall {
    /// Appends `{"name":…,"dispatch":…,"description":…,"file":…,"function":…,"line":…`, an object
    /// that the caller closes.
    func appendOpen(to out: inout [UInt8]) {
        out.append(contentsOf: "{\"name\":".utf8)
        JSON.appendString(name, to: &out)
        if let dispatch { out.append(contentsOf: ",\"dispatch\":\(dispatch.number)".utf8) }
        for (field, text) in [
            ("description", description), ("file", String(describing: file)),
            ("function", String(describing: function)),
        ] {
            out.append(contentsOf: ",\"\(field)\":".utf8)
            JSON.appendString(text, to: &out)
        }
        out.append(contentsOf: ",\"line\":\(line)".utf8)
    }
}

extension CommitOutcome {
    /// Appends `,"outcome":…`, with the `version` or the `error`.
    func append(to out: inout [UInt8]) {
        out.append(contentsOf: ",\"outcome\":".utf8)
        switch self {
        case .committed(let version):
            out.append(contentsOf: "\"committed\",\"version\":\(version)".utf8)
        case .unchanged: out.append(contentsOf: "\"unchanged\"".utf8)
        case .joined: out.append(contentsOf: "\"joined\"".utf8)
        case .failed(let error):
            out.append(contentsOf: "\"failed\"".utf8)
            error.appendField(to: &out)
        }
    }

    var isCommitted: Bool { if case .committed = self { true } else { false } }
}

extension Error {
    /// Appends `,"error":…`.
    func appendField(to out: inout [UInt8]) {
        out.append(contentsOf: ",\"error\":".utf8)
        JSON.appendString(String(describing: self), to: &out)
    }
}
