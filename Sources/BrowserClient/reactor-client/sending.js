// The half of the client that sends. It is loaded with the first send, with a session that has a
// prediction, or with an outbox. A page that only follows never loads it. The network may fail
// before the first send. A page that must be able to send even then imports this when it starts.

import { keySource } from "./keys.js";
import { loaded } from "./loading.js";
import { Prediction } from "./prediction.js";
import { Sender } from "./sender.js";
import { Tickets } from "./tickets.js";

loaded.sending = { keySource, Prediction, Sender, Tickets };
