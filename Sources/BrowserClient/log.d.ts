/**
 * The action log, and the requests beside the sessions. A service worker cannot load anything while
 * it runs, so one that uses them imports this at its start: `import "reactor-client/log.js"`.
 */
export {};
