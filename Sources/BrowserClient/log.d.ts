/**
 * The action log, and the requests beside the sessions: a service worker that uses them imports this at its start, because it
 * cannot load anything while it runs: `import "reactor-client/log.js"`.
 */
export {};
