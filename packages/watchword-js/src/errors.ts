/** The errors that a call can end with. None of them contains a key, a code, a token or a recipient. */
import type { FieldProblem } from "./types.js";

/** The base of all errors of this package. */
export class WatchwordError extends Error {
  override readonly name: string = "WatchwordError";
}

/** The service did not answer. `mayHaveArrived` is false if it certainly never got the request. */
export class ConnectionFailed extends WatchwordError {
  override readonly name = "ConnectionFailed";

  constructor(
    reason: string,
    readonly mayHaveArrived: boolean,
  ) {
    super(`The service did not answer: ${reason}.`);
  }
}

/** The answer is not from Watchword: it comes from a proxy, or from another server at this address. */
export class UnexpectedAnswer extends WatchwordError {
  override readonly name = "UnexpectedAnswer";

  constructor(readonly status: number) {
    super(`The answer, with status ${status}, is not from Watchword.`);
  }
}

/** The verified recipient is a test login, and the caller did not allow test logins. */
export class TestLoginRefused extends WatchwordError {
  override readonly name = "TestLoginRefused";

  constructor() {
    super("The recipient is a test login. Nobody gets in unless allowTestLogins is true.");
  }
}

/** The callback is not genuine, or too old. Do not act on it. */
export class CallbackRefused extends WatchwordError {
  override readonly name = "CallbackRefused";
}

/** The envelope is malformed, was changed, or belongs to another key. */
export class EnvelopeRefused extends WatchwordError {
  override readonly name = "EnvelopeRefused";
}

/** A problem document, as it came. */
export interface ProblemDocument {
  code: string;
  status: number;
  title?: string;
  detail?: string;
  type?: string;
  request_id?: string;
  retry_after?: number;
  limit?: string;
  channels?: string[];
  attempts_left?: number;
  errors?: FieldProblem[];
  provider?: string;
  api_key?: string;
  link?: string;
}

/**
 * The service refused or failed. Each code has its own class. A code of a later service, which this package does
 * not know, is a plain `Problem`.
 */
export class Problem extends WatchwordError {
  override readonly name: string = "Problem";
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly type: string;
  readonly requestId: string;
  /** Seconds to wait, if waiting helps. */
  readonly retryAfter: number | undefined;
  /** With `rate_limited`: which limit it was, and of a used-up budget the channels that may be open still. */
  readonly limit: string | undefined;
  readonly channels: readonly string[];
  /** With `invalid_code`: how many tries remain. */
  readonly attemptsLeft: number | undefined;
  /** With `validation_error`: every wrong field. */
  readonly errors: readonly FieldProblem[];
  /** With `challenge_required`: whose widget to show, and its site key. */
  readonly provider: string | undefined;
  readonly apiKey: string | undefined;
  /** With `channel_not_active`: the way into the messenger. */
  readonly link: string | undefined;

  constructor(document: ProblemDocument, retryAfter?: number) {
    super(`${document.code}: ${document.detail ?? ""}`);
    this.code = document.code;
    this.status = document.status;
    this.title = document.title ?? "";
    this.detail = document.detail ?? "";
    this.type = document.type ?? "";
    this.requestId = document.request_id ?? "";
    this.retryAfter = document.retry_after ?? retryAfter;
    this.limit = document.limit;
    this.channels = document.channels ?? [];
    this.attemptsLeft = document.attempts_left;
    this.errors = document.errors ?? [];
    this.provider = document.provider;
    this.apiKey = document.api_key;
    this.link = document.link;
  }
}
