extension Cycler {
    /// Changes the state: one version and one notification, whatever the closure writes.
    ///
    /// Where the closure writes nothing there is neither. Where it throws, the state, the version
    /// and the emitted activities are as if it had not been called; loggers are called. A commit
    /// within a commit is part of the outer one, and can fail alone. `state.value` is the working
    /// copy, in the closure's argument as well as in ``state``.
    ///
    /// - Parameters:
    ///   - name: what loggers call it. Default: nothing.
    ///   - description: what loggers say about it. Default: nothing.
    ///   - file: the file of the call, for loggers. Default: where it stands.
    ///   - function: the function of the call, likewise.
    ///   - line: the line of the call, likewise.
    ///   - mutate: is given the storage that it writes to.
    /// - Throws: what the closure throws.
    public func commit<Failure: Error>(
        _ name: String = "", _ description: String = "", file: StaticString = #fileID,
        function: StaticString = #function, line: UInt = #line,
        _ mutate: (MutableStorage<State>) throws(Failure) -> Void
    ) throws(Failure) {
        let state = state
        let call = CyclerCall(
            dispatch: state.core.currentDispatch, name: name, description: description, file: file,
            function: function, line: line)
        _ = try state.core.commit(call) { () throws(Failure) in try mutate(state.writer) }
    }

    /// Changes the state in place: one version and one notification.
    ///
    /// ```swift
    /// commit { state in state.count += 1 }
    /// ```
    ///
    /// The closure has a copy of the state, which replaces it when the closure returns; it is a
    /// version even if it is equal. In the closure ``state`` is still what it was before, and another
    /// commit is dropped: its closure is not called, and loggers are notified by `didDrop`. Where
    /// the closure throws, nothing is changed.
    ///
    /// - Parameters:
    ///   - name: what loggers call it. Default: nothing.
    ///   - description: what loggers say about it. Default: nothing.
    ///   - file: the file of the call, for loggers. Default: where it stands.
    ///   - function: the function of the call, likewise.
    ///   - line: the line of the call, likewise.
    ///   - mutate: is given the state. Where a closure without types fits ``MutableStorage`` as well,
    ///     that form is meant; `(state: inout State)` names this one.
    /// - Throws: what the closure throws.
    @_disfavoredOverload
    public func commit<Failure: Error>(
        _ name: String = "", _ description: String = "", file: StaticString = #fileID,
        function: StaticString = #function, line: UInt = #line,
        _ mutate: (inout State) throws(Failure) -> Void
    ) throws(Failure) {
        let core = state.core
        let call = CyclerCall(
            dispatch: core.currentDispatch, name: name, description: description, file: file,
            function: function, line: line)
        _ = try core.commitInPlace(call, mutate)
    }

    /// Puts another state in the place of the present one: always a version, for an equal one too.
    ///
    /// - Parameters:
    ///   - name: what loggers call it. Default: nothing.
    ///   - description: what loggers say about it. Default: nothing.
    ///   - file: the file of the call, for loggers. Default: where it stands.
    ///   - function: the function of the call, likewise.
    ///   - line: the line of the call, likewise.
    ///   - newState: what takes its place.
    public func commit(
        _ name: String = "", _ description: String = "", file: StaticString = #fileID,
        function: StaticString = #function, line: UInt = #line, replace newState: State
    ) {
        let core = state.core
        let call = CyclerCall(
            dispatch: core.currentDispatch, name: name, description: description, file: file,
            function: function, line: line)
        _ = core.commit(call) { core.replace(newState) }
    }

    /// Emits an activity; it is no version and is not stored.
    ///
    /// In a commit it is delivered after the commit, and not at all if that fails.
    public func emit(
        _ activity: Activity, file: StaticString = #fileID, function: StaticString = #function,
        line: UInt = #line
    ) {
        let core = state.core
        core.emit(
            activity,
            CyclerCall(
                dispatch: core.currentDispatch, file: file, function: function, line: line))
    }

    /// Carries out an action without waiting.
    ///
    /// It is one turn: observers are notified when it is over, so that what a subscriber does about
    /// its first commit comes after its last.
    ///
    /// A closure that keeps its context, to continue later, calls ``CyclerContext/complete()`` when
    /// the action is complete; loggers get `didDispatch` then, otherwise at the end.
    ///
    /// - Parameters:
    ///   - name: what loggers call it. Default: nothing.
    ///   - description: what loggers say about it. Default: nothing.
    ///   - file: the file of the call, for loggers. Default: where it stands.
    ///   - function: the function of the call, likewise.
    ///   - line: the line of the call, likewise.
    ///   - action: is given a context that holds this cycler weakly.
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws; what it committed before that stays.
    @discardableResult
    public func dispatch<Result, Failure: Error>(
        _ name: String = "", _ description: String = "", file: StaticString = #fileID,
        function: StaticString = #function, line: UInt = #line,
        _ action: (CyclerContext<Self>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var context = willDispatch(name, description, file, function, line)
        let core = state.core
        let before = core.beginTurn(context.call.dispatch)
        defer { core.endTurn(before) }
        do {
            let result = try action(context)
            if isKnownUniquelyReferenced(&context) { context.complete() }
            return result
        } catch {
            context.complete(error)
            throw error
        }
    }

    /// Carries out an action that waits, in the isolation of its caller.
    ///
    /// Other code can run during its suspensions. Loggers get `didDispatch` when the closure ends.
    ///
    /// - Parameters:
    ///   - name: what loggers call it. Default: nothing.
    ///   - description: what loggers say about it. Default: nothing.
    ///   - file: the file of the call, for loggers. Default: where it stands.
    ///   - function: the function of the call, likewise.
    ///   - line: the line of the call, likewise.
    ///   - action: is given a context; commits through it are logged with this dispatch's number,
    ///     and do nothing once the cycler is gone.
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws; what it committed before that stays.
    @discardableResult
    public nonisolated(nonsending) func dispatch<Result, Failure: Error>(
        _ name: String = "", _ description: String = "", file: StaticString = #fileID,
        function: StaticString = #function, line: UInt = #line,
        _ action: nonisolated(nonsending) (CyclerContext<Self>) async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let context = willDispatch(name, description, file, function, line)
        do {
            let result = try await action(context)
            context.complete()
            return result
        } catch {
            context.complete(error)
            throw error
        }
    }

    /// Waits until everything that was committed so far is saved: in a server, in its journal. In a
    /// process of its own it only lets others have their turn.
    ///
    /// For what must not happen before: an action that charges a card commits that it will, waits
    /// here, then charges. Not in a `commit`, and not in a dispatch that does not wait.
    ///
    /// - Returns: whether it is; `false` when the journal could not keep something, which has
    ///   cancelled this action, or when the session has ended. Then nothing is committed or emitted
    ///   any more.
    @discardableResult
    public nonisolated(nonsending) func saved() async -> Bool {
        // Why it is enough: a host resumes an action when its commits are stored.
        await Task.yield()
        return !state.core.isEnded
    }

    private func willDispatch(
        _ name: String, _ description: String, _ file: StaticString, _ function: StaticString,
        _ line: UInt
    ) -> CyclerContext<Self> {
        let storage = state
        let call = CyclerCall(
            dispatch: storage.core.nextDispatch(), name: name, description: description,
            file: file, function: function, line: line)
        storage.core.log(.willDispatch(call))
        return CyclerContext(self, storage, call)
    }
}
