// The half of the client that sends. It is loaded when a session is first sent to, or has a
// prediction, or with an outbox: a page that only follows never has it. One that has to send
// whatever happens later, imports it at its start.

export { keySource } from "./keys.js";
export { Outbox } from "./outbox.js";
export { Prediction } from "./prediction.js";
export { Sender } from "./sender.js";
export { Tickets } from "./tickets.js";
