/**
 * The half of the client that sends. A page that imports it has it from the beginning, and need not load it when it first
 * sends: `import "reactor-client/sending.js"`.
 */
export {};
