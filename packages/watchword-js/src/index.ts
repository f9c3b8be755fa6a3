export { verifyCallback, verifyEvent, type CallbackOptions } from "./callbacks.js";
export {
  Watchword,
  type CreateOptions,
  type ListEventsOptions,
  type ListSessionsOptions,
  type SendMessageOptions,
  type VerifyOptions,
  type WatchwordOptions,
} from "./client.js";
export { openEnvelope } from "./envelopes.js";
export {
  CallbackRefused,
  ConnectionFailed,
  EnvelopeRefused,
  Problem,
  TestLoginRefused,
  UnexpectedAnswer,
  WatchwordError,
  type ProblemDocument,
} from "./errors.js";
export * from "./problems.js";
export type * from "./types.js";
