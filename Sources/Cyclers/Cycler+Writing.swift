extension Cycler {
    /// Changes the state: one version and one notification, regardless of the number of writes.
    ///
    /// If the closure writes nothing, there is neither. If it throws, the state, the version and
    /// the emitted activities are as before the call; loggers are called. A commit within a commit
    /// is part of the outer one, and can fail separately. `state.value` is the working copy, in the
    /// closure's argument as well as in ``state``.
    ///
    /// - Parameters:
    ///   - name: the name for loggers. Default: none.
    ///   - description: a description for loggers. Default: none.
    ///   - file: the file of the call, for loggers. Default: the caller's.
    ///   - function: the function of the call, likewise.
    ///   - line: the line of the call, likewise.
    ///   - mutate: Receives the storage to which it writes.
    /// - Throws: the error of the closure.
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
    /// The closure has a copy of the state, which replaces the state when the closure returns; that
    /// is a version even if it is equal. During the closure ``state`` is unchanged, and another
    /// commit is dropped: its closure is not called, and loggers receive `didDrop`. If the closure
    /// throws, nothing is changed.
    ///
    /// - Parameters:
    ///   - name: the name for loggers. Default: none.
    ///   - description: a description for loggers. Default: none.
    ///   - file: the file of the call, for loggers. Default: the caller's.
    ///   - function: the function of the call, likewise.
    ///   - line: the line of the call, likewise.
    ///   - mutate: Receives the state. A closure without types that also fits ``MutableStorage``
    ///     receives the storage; `(state: inout State)` selects this form.
    /// - Throws: the error of the closure.
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

    /// Replaces the current state: always a version, even if it is equal.
    ///
    /// - Parameters:
    ///   - name: the name for loggers. Default: none.
    ///   - description: a description for loggers. Default: none.
    ///   - file: the file of the call, for loggers. Default: the caller's.
    ///   - function: the function of the call, likewise.
    ///   - line: the line of the call, likewise.
    ///   - newState: the new state.
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

    /// Emits an activity; it makes no version and is not stored.
    ///
    /// Within a commit it is delivered after the commit, and never if the commit fails.
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

    /// Runs an action synchronously.
    ///
    /// It is one turn: observers are notified at its end, so a subscriber's reaction to the
    /// action's first commit comes after its last commit.
    ///
    /// A closure that keeps its context, to continue later, calls ``CyclerContext/complete()`` when
    /// the action is complete; loggers then receive `didDispatch`, otherwise at the end.
    ///
    /// - Parameters:
    ///   - name: the name for loggers. Default: none.
    ///   - description: a description for loggers. Default: none.
    ///   - file: the file of the call, for loggers. Default: the caller's.
    ///   - function: the function of the call, likewise.
    ///   - line: the line of the call, likewise.
    ///   - action: Receives a context that holds this cycler weakly.
    /// - Returns: the result of the closure.
    /// - Throws: the error of the closure; its earlier commits stay.
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

    /// Runs an asynchronous action in the isolation of its caller.
    ///
    /// Other code can run at its suspensions. Loggers receive `didDispatch` when it ends.
    ///
    /// - Parameters:
    ///   - name: the name for loggers. Default: none.
    ///   - description: a description for loggers. Default: none.
    ///   - file: the file of the call, for loggers. Default: the caller's.
    ///   - function: the function of the call, likewise.
    ///   - line: the line of the call, likewise.
    ///   - action: Receives a context; its commits are logged with this dispatch's number, and have
    ///     no effect once the cycler is released.
    /// - Returns: the result of the closure.
    /// - Throws: the error of the closure; its earlier commits stay.
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

    /// Waits until a server's journal has all earlier commits. Without a server it only yields.
    ///
    /// For side effects that must follow a commit: an action that charges a card commits its
    /// intention, waits here, then charges. Not allowed in a `commit` or a synchronous dispatch.
    ///
    /// - Returns: Whether they are saved; `false` if the journal could not save a commit, which
    ///   cancels this action, or if the session has ended. The action then can neither commit nor
    ///   emit.
    @discardableResult
    public nonisolated(nonsending) func saved() async -> Bool {
        // This suffices: a host resumes an action when its commits are stored.
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
