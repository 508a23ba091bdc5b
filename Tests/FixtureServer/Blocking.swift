import Reactors

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A pipe (`mkfifo`). Its reader blocks until the writer has closed it; the writer knows that the
/// reader is blocked as soon as it has opened the pipe.
private struct Pipe {
    let path: String

    func wait() {
        let descriptor = unsafe open(path, O_RDONLY)
        var byte: UInt8 = 0
        while unsafe read(descriptor, &byte, 1) > 0 {}
        _ = close(descriptor)
    }
}

/// Blocks its loop until a pipe is closed.
struct Blocking: Reactor {
    enum Action: TaggedCodable, Sendable {
        case add
        case block(pipe: String)
    }

    struct State: Codable, Sendable { var count = 0 }

    let initialState = State()

    func mutate(action: Action) -> Effect<Action> {
        if case .block(let pipe) = action { Pipe(path: pipe).wait() }
        return .just(action)
    }

    func reduce(state: inout State, mutation: Action) { state.count += 1 }
}

/// Listens to a topic whose values block the thread that decodes them until a pipe is closed.
struct Listening: Reactor {
    struct Value: Codable, Sendable {
        var pipe: String

        enum CodingKeys: CodingKey { case pipe }

        init(from decoder: any Decoder) throws {
            pipe = try decoder.container(keyedBy: CodingKeys.self).decode(
                String.self, forKey: .pipe)
            Pipe(path: pipe).wait()
        }
    }

    enum Action: TaggedCodable, Sendable { case touch }

    struct State: Codable, Sendable { var count = 0 }

    let initialState = State()

    var sources: [Source] { [.mutations(topic: Topic<Value>("piped")) { _ in .touch }] }

    func mutate(action: Action) -> Effect<Action> { .just(action) }

    func reduce(state: inout State, mutation: Action) { state.count += 1 }
}
