import Reactors

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Blocks its loop until a pipe is closed (`mkfifo`): the writer knows that the loop is blocked as
/// soon as it has opened the pipe.
struct Blocking: Reactor {
    enum Action: TaggedCodable, Sendable {
        case add
        case block(pipe: String)
    }

    struct State: Codable, Sendable { var count = 0 }

    let initialState = State()

    func mutate(action: Action) -> Effect<Action> {
        guard case .block(let pipe) = action else { return .just(action) }
        let descriptor = unsafe open(pipe, O_RDONLY)
        var byte: UInt8 = 0
        while unsafe read(descriptor, &byte, 1) > 0 {}
        _ = close(descriptor)
        return .just(action)
    }

    func reduce(state: inout State, mutation: Action) { state.count += 1 }
}
