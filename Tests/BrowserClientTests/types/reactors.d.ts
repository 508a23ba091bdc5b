// From http://127.0.0.1:8080/v1/reactors. Make it again when a reactor changes.
// Integers are exact up to 2^53.

export interface Reactors {
  alerts: {
    Action:
      | { type: "alert"; message?: string | null }
      | { type: "doSomeAction" };
    State: { alertMessage?: string | null; actions: number };
    pulses: { alertMessage: string | null };
    activities: Record<never, never>;
  };
  counter: {
    Action:
      | { type: "increment"; number: number }
      | { type: "decrement"; number: number };
    State: { count: number };
    pulses: Record<never, never>;
    activities: { didReachBigNumber: { type: "didReachBigNumber" } };
  };
  job: {
    Action:
      | { type: "start"; steps: number }
      | { type: "startIfIdle"; steps: number }
      | { type: "cancel" };
    State: { phase: "idle" | "running" | "finished" | "cancelled"; progress: number; steps: number };
    pulses: { phase: "idle" | "running" | "finished" | "cancelled"; progress: number };
    activities: Record<never, never>;
  };
  chat: {
    Action:
      | { type: "say"; author: string; text: string }
      | { type: "typing"; author: string };
    State: { newest?: ChatNewest | null; messages: ChatNewest[]; count: number };
    pulses: { newest: ChatNewest | null };
    activities: { typing: { type: "typing"; author: string } };
  };
  countdown: {
    Action:
      | { type: "start"; seconds: number }
      | { type: "stop" }
      | { type: "end" };
    State: { endsAt?: string | number | null; ended: number };
    pulses: { ended: number };
    activities: Record<never, never>;
  };
  conversation: {
    Action:
      | { type: "ask"; text: string }
      | { type: "answer" }
      | { type: "stop" }
      | { type: "retry"; question: number };
    State: {
      token?: ConversationToken | null;
      phase: "idle" | "answering" | "failed" | "stopped" | "complete";
      messages: { number: number; role: string; text: string }[];
      tokens: number;
      count: number;
      problem?: string | null;
    };
    pulses: { token: ConversationToken | null; phase: "idle" | "answering" | "failed" | "stopped" | "complete" };
    activities: Record<never, never>;
  };
  document: {
    Input: unknown;
    Action:
      | { type: "set"; value: unknown }
      | { type: "patch"; operations: unknown }
      | { type: "append"; path: string; text: string }
      | { type: "emit"; name: string; data?: unknown };
    State: { value: unknown; emitted?: DocumentEmitted | null };
    pulses: { emitted: DocumentEmitted | null };
    activities: Record<never, never>;
  };
}

export interface ChatNewest {
  number: number;
  author: string;
  text: string;
}

export interface ConversationToken {
  message: number;
  index: number;
  text: string;
}

export interface DocumentEmitted {
  name: string;
  data: unknown;
}
