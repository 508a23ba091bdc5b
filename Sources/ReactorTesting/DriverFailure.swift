/// A fault that a ``TestDriver`` found: an event that was not asserted, or is missing.
///
/// It has the location of the call that found it, in the types that Swift Testing's
/// `SourceLocation` and XCTest's `file:line:` require.
public struct DriverFailure: Error, Sendable, CustomStringConvertible {
    /// The fault in whole sentences; then a line for each field in which two states differ.
    public let message: String

    /// The location of the call to the driver.
    public let place: CallPlace

    /// `File.swift:12: …`.
    public var description: String { "\(place.fileID):\(place.line): \(message)" }
}

/// The location in a test from which a driver was called.
public struct CallPlace: Sendable {
    /// `Module/File.swift`.
    public let fileID: String

    /// The file's path, in the type that XCTest requires.
    public let filePath: StaticString

    /// The line, from 1.
    public let line: Int

    /// The column, from 1.
    public let column: Int

    /// Makes a location; without arguments, that of this call.
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
