/** The client. */
import { openEnvelope } from "./envelopes.js";
import { TestLoginRefused } from "./errors.js";
import { perform, Repeat, type Answer, type Call, type Policy } from "./transport.js";
import type {
  Channel,
  ChannelDelivery,
  CheckedCode,
  Event,
  EventList,
  ManualChannel,
  Message,
  QueuedMessage,
  SentCode,
  Session,
  SessionChannel,
  SessionList,
  SessionRecord,
  SessionSettings,
  SessionState,
  Verified,
} from "./types.js";

const TIMEOUT_SECONDS = 10; // of one try, its whole answer included
const REPETITIONS = 2; // after the first try, of a call that a retry may fix
const LONGEST_WAIT_SECONDS = 5; // the caller has to wait out a longer Retry-After

export interface WatchwordOptions {
  baseUrl: string;
  /** For sessions; it may ship in a page or an app. */
  apiKey?: string;
  /** For `verify` and the manual sends; keep it on your server. */
  secretKey?: string;
  /** Seconds that one try may take. */
  timeout?: number;
  /** How often a call is retried after the first try, if a retry may help and does no harm. */
  repetitions?: number;
  /** The longest `Retry-After` that the client waits for, in seconds. */
  longestWait?: number;
  /** Replaces the runtime's `fetch`, for a proxy or a test. */
  fetch?: typeof globalThis.fetch;
}

export interface CreateOptions {
  /** The channel to send over, by default the project's. */
  channel?: Channel;
  /** Another name for `channel`. */
  type?: Channel;
  /** False creates the session and sends nothing. */
  send?: boolean;
  /** Your own name for the verification, which `readSession` and events return. */
  reference?: string;
  challengeToken?: string;
  /** The user's IP address, if one of your listed servers makes the call. */
  clientAddress?: string;
  /** The user's language, in the form of `Accept-Language`. Browsers send their own. */
  language?: string;
}

export interface VerifyOptions {
  allowTestLogins?: boolean;
  /** By default a new one for each call. Pass a key that you store to read a lost answer after a restart too. */
  idempotencyKey?: string;
}

export interface ListSessionsOptions {
  /** The `after` of an earlier list. */
  after?: string;
  to?: string;
  reference?: string;
  state?: SessionState;
  /** The maximum number of sessions in one list, by default 100. */
  limit?: number;
}

export interface SendMessageOptions {
  code?: string;
  providerId?: number;
  callbackUrl?: string;
  /** By default a new one for each call. Pass a key that you store to send nothing twice after a restart either. */
  idempotencyKey?: string;
}

export interface ListEventsOptions {
  /** The types to list, such as `["session.verified"]`; by default all. */
  types?: readonly string[];
  /** The maximum number of events in one list, by default 100. */
  limit?: number;
}

/** A service at `baseUrl`, called with one key or both. */
export class Watchword {
  readonly baseUrl: string;
  readonly #apiKey: string;
  readonly #secretKey: string;
  readonly #policy: Policy;

  constructor(options: WatchwordOptions) {
    if (options.secretKey && "document" in globalThis) {
      throw new TypeError("The secret key belongs on your server: anyone who opens this page could read it.");
    }
    this.baseUrl = options.baseUrl.replace(/\/+$/, "");
    this.#apiKey = options.apiKey ?? "";
    this.#secretKey = options.secretKey ?? "";
    this.#policy = {
      fetch: options.fetch ?? ((...request) => globalThis.fetch(...request)),
      timeout: options.timeout ?? TIMEOUT_SECONDS,
      repetitions: options.repetitions ?? REPETITIONS,
      longestWait: options.longestWait ?? LONGEST_WAIT_SECONDS,
    };
  }

  // --- sessions, with the API key ---

  /** Start a verification, or return the recipient's live one. It sends the code unless `send` is false. */
  createSession(to: string, options: CreateOptions = {}): Promise<Session> {
    const { channel, type, send, reference, challengeToken, clientAddress, language } = options;
    return this.#session({
      method: "POST",
      path: "/session/create",
      repeat: repeatOfSending(challengeToken),
      body: { to, channel, type, send, reference, challenge_token: challengeToken },
      headers: userHeaders(clientAddress, language),
    });
  }

  /**
   * Send the session's code again, or over another channel. After a lost answer the retry may throw
   * `ChannelTimeout`: the code is then on its way.
   */
  sendCode(sessionId: string, channel: Channel, options: { challengeToken?: string; clientAddress?: string } = {}): Promise<SentCode> {
    return this.#session({
      method: "POST",
      path: "/session/send",
      repeat: repeatOfSending(options.challengeToken),
      body: { session_id: sessionId, channel, challenge_token: options.challengeToken },
      headers: userHeaders(options.clientAddress),
    });
  }

  /** Check what the user typed. It proves nothing to your server until `verify` redeems the token there. */
  checkCode(sessionId: string, code: string, options: { clientAddress?: string } = {}): Promise<CheckedCode> {
    const body = { session_id: sessionId, code };
    const headers = userHeaders(options.clientAddress);
    return this.#session({ method: "POST", path: "/session/check", repeat: Repeat.REFUSED, body, headers });
  }

  /** Return what became of a session's code on each channel that carried it. */
  async sessionDelivery(sessionId: string): Promise<ChannelDelivery[]> {
    const path = `/session/delivery${query(sessionId)}`;
    const answer = await this.#session<{ channels: ChannelDelivery[] }>({ method: "GET", path, repeat: Repeat.ANY });
    return answer.channels;
  }

  /** List a session's channels, with the seconds until each can send again; without a session the project's. */
  sessionChannels(sessionId?: string): Promise<SessionChannel[]> {
    return this.#session({ method: "GET", path: `/session/channels${query(sessionId)}`, repeat: Repeat.ANY });
  }

  /** Return the format of a session's code, and if it needs a challenge; without a session the project's. */
  sessionSettings(sessionId?: string): Promise<SessionSettings> {
    return this.#session({ method: "GET", path: `/session/settings${query(sessionId)}`, repeat: Repeat.ANY });
  }

  // --- on your server, with the secret key ---

  /**
   * Redeem the token of a right code, once and within 60 seconds, and return who was verified. Its retries can read a
   * lost answer.
   */
  async verify(verifyToken: string, options: VerifyOptions = {}): Promise<Verified> {
    const { allowTestLogins = false, idempotencyKey = crypto.randomUUID() } = options;
    const answer = await this.#manual({
      method: "POST",
      path: "/session/verify",
      repeat: Repeat.ANY,
      body: { verify_token: verifyToken },
      headers: { "idempotency-key": idempotencyKey },
    });
    const isTest = answer.headers.has("x-test-login");
    if (isTest && !allowTestLogins) throw new TestLoginRefused();
    const { phone, email } = answer.json as { phone?: string; email?: string };
    const sessionId = answer.headers.get("x-session-id");
    const channel = answer.headers.get("x-channel") as Channel | null;
    return {
      recipient: phone ?? email ?? "",
      ...(phone && { phone }),
      ...(email && { email }),
      isTest,
      ...(sessionId && { sessionId }),
      ...(channel && { channel }),
    };
  }

  /** Return a session in any state, with its messages. This proves nobody's address: `verify` does. */
  async readSession(sessionId: string): Promise<SessionRecord> {
    const path = `/session/${encodeURIComponent(sessionId)}`;
    return (await this.#manual({ method: "GET", path, repeat: Repeat.ANY })).json as SessionRecord;
  }

  /** List sessions, newest first. Continue with the `after` of a list while it `has_more`. */
  async listSessions(options: ListSessionsOptions = {}): Promise<SessionList> {
    const asked = new URLSearchParams();
    for (const [name, value] of Object.entries(options)) if (value !== undefined) asked.set(name, String(value));
    return (await this.#manual({ method: "GET", path: `/session?${asked}`, repeat: Repeat.ANY })).json as SessionList;
  }

  /** Iterate over all sessions, newest first. */
  async *iterateSessions(options: Omit<ListSessionsOptions, "after"> = {}): AsyncGenerator<SessionRecord, void> {
    for (let asked: ListSessionsOptions | null = options; asked; ) {
      const page: SessionList = await this.listSessions(asked);
      yield* page.sessions;
      asked = page.has_more && page.after !== null ? { ...options, after: page.after } : null;
    }
  }

  /** End a session early: its code is no longer valid, and the service no longer sends it. */
  async cancelSession(sessionId: string): Promise<SessionRecord> {
    const path = `/session/${encodeURIComponent(sessionId)}/cancel`;
    return (await this.#manual({ method: "POST", path, repeat: Repeat.ANY })).json as SessionRecord;
  }

  /** Send your own code, or a random one, outside any session. Its retries send nothing twice. */
  async sendMessage(to: string, channel: Channel, options: SendMessageOptions = {}): Promise<QueuedMessage> {
    const { code, providerId, callbackUrl, idempotencyKey = crypto.randomUUID() } = options;
    const answer = await this.#manual({
      method: "POST",
      path: "/manual/send",
      repeat: Repeat.ANY,
      body: { to, channel, code, provider_id: providerId, callback_url: callbackUrl },
      headers: { "idempotency-key": idempotencyKey },
    });
    return answer.json as QueuedMessage;
  }

  /** Return the state of a message that `sendMessage` sent. */
  async readMessage(messageId: number): Promise<Message> {
    const path = `/manual/message/${encodeURIComponent(messageId)}`;
    return (await this.#manual({ method: "GET", path, repeat: Repeat.ANY })).json as Message;
  }

  /**
   * Report that the user entered the right code of a message without a session: by its id, or by its recipient. The
   * send then counts as verified, and the number as known. A repeated report changes nothing.
   */
  async reportVerified(user: { messageId: number } | { to: string }): Promise<void> {
    const body = "to" in user ? { to: user.to } : { message_id: user.messageId };
    await this.#manual({ method: "POST", path: "/manual/verified", repeat: Repeat.ANY, body });
  }

  /** List the channels that `sendMessage` accepts, with their providers. */
  async manualChannels(): Promise<ManualChannel[]> {
    const answer = await this.#manual({ method: "GET", path: "/manual/channels", repeat: Repeat.ANY });
    return answer.json as ManualChannel[];
  }

  /**
   * List the next events after a place: the `after` of an earlier list, or "0" for the oldest. Without one the list is
   * empty, and new events follow its `after`. A list of some `types` may be empty although it `has_more`.
   */
  async listEvents(after?: string, { types, limit }: ListEventsOptions = {}): Promise<EventList> {
    const asked = new URLSearchParams();
    if (after !== undefined) asked.set("after", after);
    if (types) asked.set("type", types.join(","));
    if (limit !== undefined) asked.set("limit", String(limit));
    return (await this.#manual({ method: "GET", path: `/events?${asked}`, repeat: Repeat.ANY })).json as EventList;
  }

  /**
   * Iterate over all events after a place, by default from the oldest. To continue from there another time, use
   * `listEvents` and keep its `after`.
   */
  async *iterateEvents(after = "0", options: { types?: readonly string[] } = {}): AsyncGenerator<Event, void> {
    for (let hasMore = true; hasMore; ) {
      const page = await this.listEvents(after, options);
      yield* page.events;
      ({ after, has_more: hasMore } = page);
    }
  }

  /** Return one event by its `webhook-id`. */
  async readEvent(eventId: string): Promise<Event> {
    const path = `/events/${encodeURIComponent(eventId)}`;
    return (await this.#manual({ method: "GET", path, repeat: Repeat.ANY })).json as Event;
  }

  /** Return the code in the envelope of a `QueuedMessage` that this client's secret key sent. */
  openEnvelope(envelope: string): Promise<string> {
    return openEnvelope(envelope, this.#secretKey);
  }

  async #session<Body>(call: Call): Promise<Body> {
    if (!this.#apiKey) throw new TypeError(`${call.path} needs the apiKey, and this client was created without it.`);
    return (await perform(this.baseUrl, this.#apiKey, call, this.#policy)).json as Body;
  }

  async #manual(call: Call): Promise<Answer> {
    if (!this.#secretKey) throw new TypeError(`${call.path} needs the secretKey, and this client was created without it.`);
    return perform(this.baseUrl, this.#secretKey, call, this.#policy);
  }
}

/** A challenge's answer works once, and a refusal may have used it up: then only an unsent request is retried. */
function repeatOfSending(challengeToken: string | undefined): Repeat {
  return challengeToken ? Repeat.UNSENT : Repeat.ANY;
}

function userHeaders(clientAddress?: string, language?: string): Record<string, string> {
  return {
    ...(clientAddress && { "x-client-address": clientAddress }),
    ...(language && { "accept-language": language }),
  };
}

function query(sessionId: string | undefined): string {
  return sessionId === undefined ? "" : `?session_id=${encodeURIComponent(sessionId)}`;
}
