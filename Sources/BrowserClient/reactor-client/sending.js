// The half of the client that sends. It is loaded when a session is first sent to, or has a
// prediction, or with an outbox: a page that only follows never has it. One that has to send
// whatever happens later, imports it at its start.

import { keySource } from "./keys.js";
import { loaded } from "./loading.js";
import { Prediction } from "./prediction.js";
import { Sender } from "./sender.js";
import { Tickets } from "./tickets.js";

loaded.sending = { keySource, Prediction, Sender, Tickets };
