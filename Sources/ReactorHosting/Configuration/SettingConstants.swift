/// Values of ``Configuration`` that no operator needs to change; each says why (ADR-0074).
///
/// Why they can be changed at all: a test can then reach a limit with ten requests, and not with
/// ten thousand. A debug build accepts them as options, variables and lines of the file if its
/// environment has `REACTOR_CONSTANTS=adjustable`; a release build has no such code.
package enum SettingConstants {
    /// Whether the settings that are read now may have other values for the constants.
    @TaskLocal package static var areAdjustable = false

    /// The variable that makes them adjustable in a debug build.
    static let variable = "REACTOR_CONSTANTS"

    /// Whether the program's environment asks for it.
    static var areAdjustableByProgram: Bool {
        #if DEBUG
            ProcessEnvironment.variables[variable] == "adjustable"
        #else
            false
        #endif
    }

    static let table: [Setting] = Setting.declared.filter(\.isConstant)
}
