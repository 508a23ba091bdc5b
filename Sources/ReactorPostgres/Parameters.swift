/// The parameters of a statement, in PostgreSQL's binary form.
struct Parameters: ExpressibleByArrayLiteral {
    private(set) var bytes: [UInt8] = []
    private(set) var types: [UInt32] = []
    /// Where each parameter is in ``bytes``; nil: NULL.
    private(set) var places: [(offset: Int, count: Int)?] = []

    init(arrayLiteral parameters: any Parameter...) {
        for parameter in parameters { parameter.add(to: &self) }
    }

    mutating func add(_ parameter: some Parameter) { parameter.add(to: &self) }

    fileprivate mutating func addNull(type: UInt32) {
        types.append(type)
        places.append(nil)
    }

    fileprivate mutating func add(type: UInt32, _ write: (inout [UInt8]) -> Void) {
        types.append(type)
        let start = bytes.count
        write(&bytes)
        places.append((start, bytes.count - start))
    }
}

/// A parameter of a statement: a value, or an array of values.
protocol Parameter {
    func add(to parameters: inout Parameters)
}

protocol ParameterValue {
    /// The object ids of the type of the value, and of the type of its arrays.
    static var types: (value: UInt32, array: UInt32) { get }
    /// Nil: NULL.
    var byteCount: Int? { get }
    func append(to bytes: inout [UInt8])
}

extension Parameter where Self: ParameterValue {
    func add(to parameters: inout Parameters) {
        guard byteCount != nil else { return parameters.addNull(type: Self.types.value) }
        parameters.add(type: Self.types.value) { append(to: &$0) }
    }
}

extension Array: Parameter where Element: ParameterValue {
    func add(to parameters: inout Parameters) {
        parameters.add(type: Element.types.array) { bytes in
            bytes.append(bigEndian: (isEmpty ? 0 : 1) as Int32)
            bytes.append(bigEndian: (contains { $0.byteCount == nil } ? 1 : 0) as Int32)
            bytes.append(bigEndian: Element.types.value)
            guard !isEmpty else { return }
            bytes.append(bigEndian: Int32(count))
            bytes.append(bigEndian: 1 as Int32)
            for value in self {
                bytes.append(bigEndian: Int32(value.byteCount ?? -1))
                value.append(to: &bytes)
            }
        }
    }
}

/// A `bigint`; what it cannot hold becomes the nearest value that it can.
extension ParameterValue where Self: FixedWidthInteger {
    static var types: (value: UInt32, array: UInt32) { (20, 1016) }
    var byteCount: Int? { 8 }
    func append(to bytes: inout [UInt8]) { bytes.append(bigEndian: Int64(clamping: self)) }
}

extension Int: Parameter, ParameterValue {}
extension Int64: Parameter, ParameterValue {}
extension UInt64: Parameter, ParameterValue {}

extension String: Parameter, ParameterValue {
    static var types: (value: UInt32, array: UInt32) { (25, 1009) }
    var byteCount: Int? { utf8.count }
    func append(to bytes: inout [UInt8]) { bytes.append(contentsOf: utf8) }
}

extension [UInt8]: ParameterValue {
    static var types: (value: UInt32, array: UInt32) { (17, 1001) }
    var byteCount: Int? { count }
    func append(to bytes: inout [UInt8]) { bytes += self }
}

extension Optional: Parameter, ParameterValue where Wrapped: ParameterValue {
    static var types: (value: UInt32, array: UInt32) { Wrapped.types }
    var byteCount: Int? { flatMap(\.byteCount) }
    func append(to bytes: inout [UInt8]) { self?.append(to: &bytes) }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian value: some FixedWidthInteger) {
        var shift = value.bitWidth - 8
        while shift >= 0 {
            append(UInt8(truncatingIfNeeded: value >> shift))
            shift -= 8
        }
    }
}
