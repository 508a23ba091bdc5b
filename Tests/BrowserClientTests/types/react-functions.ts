// The functions of React that the client uses, for compilers where React's own types are not installed.

export declare function useMemo<Value>(make: () => Value, dependencies: unknown[]): Value;
export declare function useRef<Value>(value: Value): { current: Value };
export declare function useSyncExternalStore<Value>(
  subscribe: (listener: () => void) => () => void,
  getSnapshot: () => Value,
  getServerSnapshot: () => Value,
): Value;
export declare function useEffect(effect: () => void | (() => void), dependencies: unknown[]): void;
export declare function useReducer(reduce: (state: number) => number, first: number): [number, () => void];
