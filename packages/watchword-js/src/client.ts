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
const REPETITIONS = 2; // after the first try, of a call that a repetition may mend
const LONGEST_WAIT_SECONDS = 5; // a longer Retry-After is the caller's to wait for

export interface WatchwordOptions {
  baseUrl: string;
  /** For sessions; it may ship in a page or an app. */
  apiKey?: string;
  /** For `verify` and the manual sends; it belongs on your server alone. */
  secretKey?: string;
  /** Seconds that one try may take. */
  timeout?: number;
  /** How often a call is repeated after the first try, where a repetition may help and does no harm. */
  repetitions?: number;
  /** The longest `Retry-After` that is waited for, in seconds. */
  longestWait?: number;
  /** Replaces the runtime's `fetch`, for a proxy or a test. */
  fetch?: typeof globalThis.fetch;
}

export interface CreateOptions {
  type?: Channel;
  /** False creates the session and sends nothing. */
  send?: boolean;
  /** Your own word for the verification, which `readSession` and events tell. */
  reference?: string;
  challengeToken?: string;
  /** The user's IP address, where a listed server of yours calls for them. */
  clientAddress?: string;
  /** The user's language, in the form of `Accept-Language`. Browsers send their own. */
  language?: string;
}

export interface VerifyOptions {
  allowTestLogins?: boolean;
  /** By default one of this call alone. Give one that you store, and a lost answer can be read after a restart too. */
  idempotencyKey?: string;
}

export interface ListSessionsOptions {
  /** The `after` of an earlier list. */
  after?: string;
  to?: string;
  reference?: string;
  state?: SessionState;
  /** The most sessions that one list has, 100 by default. */
  limit?: number;
}

export interface SendMessageOptions {
  code?: string;
  providerId?: number;
  callbackUrl?: string;
  /** By default one of this call alone. Give one that you store, and repeating after a restart sends nothing twice. */
  idempotencyKey?: string;
}

export interface ListEventsOptions {
  /** The types that are wanted, such as `["session.verified"]`; all by default. */
  types?: readonly string[];
  /** The most events that one list has, 100 by default. */
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
      throw new TypeError("The secret key belongs on your server: whoever opens this page could read it.");
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

  /** Start a verification, or return the recipient's live one. The code goes out unless `send` is false. */
  createSession(to: string, options: CreateOptions = {}): Promise<Session> {
    const { type, send, reference, challengeToken, clientAddress, language } = options;
    return this.#session({
      method: "POST",
      path: "/session/create",
      repeat: repeatOfSending(challengeToken),
      body: { to, type, send, reference, challenge_token: challengeToken },
      headers: userHeaders(clientAddress, language),
    });
  }

  /**
   * Send the session's code again, or over another channel. After a lost answer the repetition may throw
   * `ChannelTimeout`: the code is then on its way.
   */
  sendCode(sessionId: string, type: Channel, options: { challengeToken?: string; clientAddress?: string } = {}): Promise<SentCode> {
    return this.#session({
      method: "POST",
      path: "/session/send",
      repeat: repeatOfSending(options.challengeToken),
      body: { session_id: sessionId, type, challenge_token: options.challengeToken },
      headers: userHeaders(options.clientAddress),
    });
  }

  /** Check what the user typed. It proves nothing to your server until `verify` redeems the token there. */
  checkCode(sessionId: string, code: string, options: { clientAddress?: string } = {}): Promise<CheckedCode> {
    const body = { session_id: sessionId, code };
    const headers = userHeaders(options.clientAddress);
    return this.#session({ method: "POST", path: "/session/check", repeat: Repeat.REFUSED, body, headers });
  }

  /** Return what became of a session's code over each channel that it went over. */
  async sessionDelivery(sessionId: string): Promise<ChannelDelivery[]> {
    const path = `/session/delivery${query(sessionId)}`;
    const answer = await this.#session<{ channels: ChannelDelivery[] }>({ method: "GET", path, repeat: Repeat.ANY });
    return answer.channels;
  }

  /** List the channels of a session, with the seconds until each can send again; without one the project's. */
  sessionChannels(sessionId?: string): Promise<SessionChannel[]> {
    return this.#session({ method: "GET", path: `/session/channels${query(sessionId)}`, repeat: Repeat.ANY });
  }

  /** Return how a session's code looks, and if a challenge is asked for; without a session the project's. */
  sessionSettings(sessionId?: string): Promise<SessionSettings> {
    return this.#session({ method: "GET", path: `/session/settings${query(sessionId)}`, repeat: Repeat.ANY });
  }

  // --- on your server, with the secret key ---

  /**
   * Redeem the token of a right code, once and within 60 seconds, and return who was verified. Its repetitions read an
   * answer that was lost.
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

  /** Return a session in whatever state it is, with its messages. It proves nobody's address: `verify` does. */
  async readSession(sessionId: string): Promise<SessionRecord> {
    const path = `/session/${encodeURIComponent(sessionId)}`;
    return (await this.#manual({ method: "GET", path, repeat: Repeat.ANY })).json as SessionRecord;
  }

  /** List sessions, the newest first. Go on with the `after` of a list for as long as it `has_more`. */
  async listSessions(options: ListSessionsOptions = {}): Promise<SessionList> {
    const asked = new URLSearchParams();
    for (const [name, value] of Object.entries(options)) if (value !== undefined) asked.set(name, String(value));
    return (await this.#manual({ method: "GET", path: `/session?${asked}`, repeat: Repeat.ANY })).json as SessionList;
  }

  /** End a session before its time: its code is good for nothing, and is not sent any more. */
  async cancelSession(sessionId: string): Promise<SessionRecord> {
    const path = `/session/${encodeURIComponent(sessionId)}/cancel`;
    return (await this.#manual({ method: "POST", path, repeat: Repeat.ANY })).json as SessionRecord;
  }

  /** Send a code of yours, or one that is drawn, outside any session. Its repetitions send nothing twice. */
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

  /** Return where a message of `sendMessage` stands. */
  async readMessage(messageId: number): Promise<Message> {
    const path = `/manual/message/${encodeURIComponent(messageId)}`;
    return (await this.#manual({ method: "GET", path, repeat: Repeat.ANY })).json as Message;
  }

  /**
   * Report that the user entered the right code of a message without a session: by its id, or by its recipient. So the
   * send counts as verified, and the number is known. A repeated report changes nothing.
   */
  async reportVerified(user: { messageId: number } | { to: string }): Promise<void> {
    const body = "to" in user ? { to: user.to } : { message_id: user.messageId };
    await this.#manual({ method: "POST", path: "/manual/verified", repeat: Repeat.ANY, body });
  }

  /** List the channels that `sendMessage` takes, with their providers. */
  async manualChannels(): Promise<ManualChannel[]> {
    const answer = await this.#manual({ method: "GET", path: "/manual/channels", repeat: Repeat.ANY });
    return answer.json as ManualChannel[];
  }

  /**
   * List the next events after a place: the `after` of an earlier list, or "0" for the oldest. Without one the list is
   * empty, and its `after` is where new events follow. A list of some `types` may be empty though it `has_more`.
   */
  async listEvents(after?: string, { types, limit }: ListEventsOptions = {}): Promise<EventList> {
    const asked = new URLSearchParams();
    if (after !== undefined) asked.set("after", after);
    if (types) asked.set("type", types.join(","));
    if (limit !== undefined) asked.set("limit", String(limit));
    return (await this.#manual({ method: "GET", path: `/events?${asked}`, repeat: Repeat.ANY })).json as EventList;
  }

  /**
   * Go through the events after a place, by default from the oldest, until there is no more. To go on from there at
   * another time, keep the `after` of `listEvents` instead.
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
    if (!this.#apiKey) throw new TypeError(`${call.path} takes the apiKey, and this client was made without it.`);
    return (await perform(this.baseUrl, this.#apiKey, call, this.#policy)).json as Body;
  }

  async #manual(call: Call): Promise<Answer> {
    if (!this.#secretKey) throw new TypeError(`${call.path} takes the secretKey, and this client was made without it.`);
    return perform(this.baseUrl, this.#secretKey, call, this.#policy);
  }
}

/** A challenge's answer works once, and a refusal may have used it up: then only an unsent request is repeated. */
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
