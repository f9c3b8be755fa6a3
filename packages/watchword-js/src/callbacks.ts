/** Signatures of callbacks and other events, by Standard Webhooks. */
import { decode, encode } from "./base64.js";
import { CallbackRefused } from "./errors.js";
import type { FinishedMessage, SessionEvent } from "./types.js";

const TOLERANCE_SECONDS = 300; // how far the two clocks may differ, and how old a recorded callback may be

export interface CallbackOptions {
  /** The maximum age of a callback, in seconds. */
  tolerance?: number;
  /** The time in seconds since 1970, for tests. */
  now?: number;
}

/**
 * Return the message that a genuine callback reports, or throw `CallbackRefused`.
 *
 * `headers` is a `Headers` or Node's object, `body` the text or bytes as they arrived. `secret` begins with `whsec_`;
 * pass several during a rotation. A callback can arrive twice: act on each `webhook-id` once.
 */
export async function verifyCallback(
  headers: Headers | Record<string, string | string[] | undefined>,
  body: string | Uint8Array,
  secret: string | readonly string[],
  options: CallbackOptions = {},
): Promise<FinishedMessage> {
  return (await genuine(headers, body, secret, options)) as FinishedMessage;
}

/** Return the event of a session that a genuine call reports, as `verifyCallback` does for a message. */
export async function verifyEvent(
  headers: Headers | Record<string, string | string[] | undefined>,
  body: string | Uint8Array,
  secret: string | readonly string[],
  options: CallbackOptions = {},
): Promise<SessionEvent> {
  return (await genuine(headers, body, secret, options)) as SessionEvent;
}

async function genuine(
  headers: Headers | Record<string, string | string[] | undefined>,
  body: string | Uint8Array,
  secret: string | readonly string[],
  { tolerance = TOLERANCE_SECONDS, now = Date.now() / 1000 }: CallbackOptions,
): Promise<unknown> {
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) => read(headers, `webhook-${name}`));
  if (!id || !timestamp || !/^[0-9]+$/.test(timestamp)) {
    throw new CallbackRefused("The headers webhook-id and webhook-timestamp are missing or malformed.");
  }
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const prefix = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(prefix.length + bytes.length);
  signed.set(prefix);
  signed.set(bytes, prefix.length);
  let isGenuine = false;
  for (const each of typeof secret === "string" ? [secret] : secret) {
    const expected = await signature(each, signed);
    for (const given of (signatures ?? "").split(" ")) isGenuine = isEqual(expected, given) || isGenuine;
  }
  if (!isGenuine) throw new CallbackRefused("No signature of the callback is valid.");
  if (Math.abs(now - Number(timestamp)) > tolerance) {
    throw new CallbackRefused("The callback is too old, or one of the two clocks is wrong.");
  }
  return JSON.parse(new TextDecoder().decode(bytes));
}

function read(headers: Headers | Record<string, string | string[] | undefined>, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const found = Object.keys(headers).find((each) => each.toLowerCase() === name);
  const value = found === undefined ? undefined : headers[found];
  return Array.isArray(value) ? value[0] : value;
}

async function signature(secret: string, signed: Uint8Array<ArrayBuffer>): Promise<string> {
  const key = await crypto.subtle.importKey("raw", keyOf(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return `v1,${encode(new Uint8Array(await crypto.subtle.sign("HMAC", key, signed)))}`;
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  try {
    if (secret.startsWith("whsec_") && secret.length > "whsec_".length) return decode(secret.slice("whsec_".length));
  } catch {
    // not base64: the same sentence
  }
  throw new TypeError("A callback secret begins with whsec_; the project's page in the panel shows it.");
}

/** Compare in a time that does not reveal where the two differ. */
function isEqual(expected: string, given: string): boolean {
  let difference = expected.length ^ given.length;
  for (let at = 0; at < expected.length; at++) difference |= expected.charCodeAt(at) ^ given.charCodeAt(at);
  return difference === 0;
}
