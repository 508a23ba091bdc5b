/// A fault that a ``TestDriver`` found: something came that was not asserted, or did not come.
///
/// It has the place of the call that found it, in the pieces that both Swift Testing's
/// `SourceLocation` and XCTest's `file:line:` are made of.
public struct DriverFailure: Error, Sendable, CustomStringConvertible {
    /// The fault, in whole sentences; several lines where two values are compared.
    public let message: String

    /// Where the driver was called.
    public let place: CallPlace

    /// `File.swift:12: …`.
    public var description: String { "\(place.fileID):\(place.line): \(message)" }
}

/// Where in a test a driver was called.
public struct CallPlace: Sendable {
    /// `Module/File.swift`.
    public let fileID: String

    /// The file's path, in the type that XCTest asks for.
    public let filePath: StaticString

    /// The line, from 1.
    public let line: Int

    /// The column, from 1.
    public let column: Int

    /// Makes a place; without arguments, that of this very call.
    public init(
        fileID: String = #fileID, filePath: StaticString = #filePath, line: Int = #line,
        column: Int = #column
    ) {
        self.fileID = fileID
        self.filePath = filePath
        self.line = line
        self.column = column
    }
}
