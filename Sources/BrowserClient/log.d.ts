/**
 * The action log, and requests such as `create`, `fork` and `sessions`. A service worker cannot
 * load modules while it runs. If it needs these, it imports this module when it starts:
 * `import "reactor-client/log.js"`.
 */
export {};
