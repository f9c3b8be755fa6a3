/** The answers of the service under the client's names. Members that a later service adds are passed on. */
import type { components } from "./schema.js";

type Schemas = components["schemas"];

export type Channel = Schemas["Channel"];
export type ErrorCode = Schemas["ErrorCode"];
export type MessageStatus = Schemas["MessageStatus"];
export type FieldProblem = Schemas["FieldProblem"];
export type Session = Schemas["SessionCreateResponse"];
export type SentCode = Schemas["SessionSendResponse"];
export type CheckedCode = Schemas["SessionCheckResponse"];
export type SessionChannel = Schemas["SessionChannel"];
export type ChannelDelivery = Schemas["ChannelDelivery"];
export type DeliveryStatus = Schemas["DeliveryStatus"];
export type SessionMessage = Schemas["SessionMessage"];
export type SessionRecord = Schemas["SessionRecord"];
export type SessionList = Schemas["SessionList"];
export type SessionState = Schemas["SessionState"];
export type SessionSettings = Schemas["SessionSettings"];
export type QueuedMessage = Schemas["ManualSendResponse"];
export type Message = Schemas["ManualMessage"];
export type FinishedMessage = Schemas["ManualMessageFinished"];
export type ManualChannel = Schemas["ManualChannel"];
export type ManualProvider = Schemas["ManualProvider"];
export type Event = Schemas["Event"];
export type EventList = Schemas["EventList"];
export type SessionEvent = Schemas["SessionEvent"];
export type SessionEventType = Schemas["SessionEventType"];

/** A verified phone number (E.164) or e-mail address (lower case). */
export interface Verified {
  /** The one of the two that was verified. */
  recipient: string;
  phone?: string;
  email?: string;
  isTest: boolean;
  sessionId?: string;
  /** The channel over which its code last went. */
  channel?: Channel;
}
