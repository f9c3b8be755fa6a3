/** The channels by which codes go out. */
export type Channel = "sms" | "email" | "messenger_a" | "messenger_b" | "voice" | (string & {});

export interface SentDetail {
  channel: Channel;
  /** When the session ends, in ISO 8601. */
  session_expired_at: string;
}

export interface VerifiedDetail {
  /** Redeem it on your server at /session/verify: it works once, within 60 seconds. */
  verify_token: string;
  /** The recipient is a test login. */
  is_test: boolean;
}

export interface ErrorDetail {
  /** The code of the problem document, `network`, or `not_sent` where no provider took the code that was to go out. */
  code: string;
  /** The channel, with `not_sent`. */
  channel?: Channel;
  detail?: string;
  /** Seconds, where waiting helps. */
  retry_after?: number;
  /** Tries that remain after a wrong code. */
  attempts_left?: number;
  request_id?: string;
}

export interface WatchwordVerifyEventMap {
  sent: CustomEvent<SentDetail>;
  verified: CustomEvent<VerifiedDetail>;
  error: CustomEvent<ErrorDetail>;
  expired: CustomEvent<Record<string, never>>;
  /** The session was verified in another window of this browser. */
  elsewhere: CustomEvent<Record<string, never>>;
}

export interface WatchwordVerifyAttributes {
  "api-key": string;
  service?: string;
  to?: string;
  kind?: "phone" | "email";
  channel?: Channel;
  country?: string;
  language?: string;
  languages?: string;
  theme?: "light" | "dark";
}

export class WatchwordVerify extends HTMLElement {
  /** Forget the session and show the first step. */
  reset(): void;
  addEventListener<K extends keyof WatchwordVerifyEventMap>(
    type: K,
    listener: (this: WatchwordVerify, event: WatchwordVerifyEventMap[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
  ): void;
}

declare global {
  interface HTMLElementTagNameMap {
    "watchword-verify": WatchwordVerify;
  }
}
