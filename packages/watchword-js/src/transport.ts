/** Calls: how one is sent, when it is repeated, and how its answer is read. */
import { ConnectionFailed, Problem, UnexpectedAnswer, type ProblemDocument } from "./errors.js";
import { PROBLEMS } from "./problems.js";

const FIRST_WAIT_SECONDS = 0.25; // before the first repetition; doubled before each further one
// What Node.js, Deno and Bun call a connection that was never made: the service did not get the request.
const NEVER_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT", "ConnectionRefused"]);

/** How much must be known of a call's failure before it is repeated; each value includes the ones before it. */
export const Repeat = {
  /** The request never reached the service. */
  UNSENT: 1,
  /** The service says that it did nothing. */
  REFUSED: 2,
  /** Nothing is known; repeating does no harm. */
  ANY: 3,
} as const;
export type Repeat = (typeof Repeat)[keyof typeof Repeat];

/** One call of the API, without its key. */
export interface Call {
  method: "GET" | "POST";
  path: string;
  repeat: Repeat;
  body?: Record<string, unknown>;
  headers?: Record<string, string>;
}

/** How calls are sent; times are in seconds. */
export interface Policy {
  fetch: typeof globalThis.fetch;
  timeout: number;
  repetitions: number;
  longestWait: number;
}

/** An answer with its parsed body, which is undefined if it was not JSON. */
export interface Answer {
  status: number;
  headers: Headers;
  json: unknown;
}

type Outcome = Answer | ConnectionFailed;

/** Send a call, repeat it while that may help and does no harm, and return the answer of a success. */
export async function perform(baseUrl: string, key: string, call: Call, policy: Policy): Promise<Answer> {
  for (let repetition = 0; ; repetition++) {
    const outcome = await sendOnce(baseUrl, key, call, policy);
    if (!(outcome instanceof ConnectionFailed) && outcome.status === 200 && outcome.json !== undefined) return outcome;
    const wait = repetition < policy.repetitions ? waitBeforeNext(call, outcome, repetition, policy) : undefined;
    if (wait === undefined) throw failure(outcome);
    await new Promise((resume) => setTimeout(resume, wait * 1000));
  }
}

async function sendOnce(baseUrl: string, key: string, call: Call, policy: Policy): Promise<Outcome> {
  const headers: Record<string, string> = { ...call.headers, "x-api-key": key };
  const options: RequestInit = {
    method: call.method,
    headers,
    redirect: "manual", // a redirect would carry the key elsewhere
    signal: AbortSignal.timeout(policy.timeout * 1000),
  };
  if (call.body) {
    headers["content-type"] = "application/json";
    options.body = JSON.stringify(call.body);
  }
  try {
    const response = await policy.fetch(baseUrl + call.path, options);
    return { status: response.status, headers: response.headers, json: parsed(await response.text()) };
  } catch (error) {
    return connectionFailed(error);
  }
}

/** Report a failed connection only by its name: some runtimes' errors contain the request, and with it the key. */
function connectionFailed(error: unknown): ConnectionFailed {
  const { name, code, cause } = error as { name?: string; code?: unknown; cause?: { code?: unknown } };
  if (name === "TimeoutError") return new ConnectionFailed("it took too long", true);
  const reason = [cause?.code, code].find((each) => typeof each === "string") as string | undefined;
  return new ConnectionFailed(reason ?? "the connection failed", !NEVER_SENT.has(reason ?? ""));
}

/** Return the seconds to wait before the call is repeated, or undefined if it is not. */
function waitBeforeNext(call: Call, outcome: Outcome, repetition: number, policy: Policy): number | undefined {
  const known = knownOf(outcome);
  if (known === undefined || call.repeat < known) return undefined;
  const told = outcome instanceof ConnectionFailed ? undefined : retryAfter(outcome.headers);
  if (told !== undefined) return told <= policy.longestWait ? told : undefined;
  return Math.min(FIRST_WAIT_SECONDS * 2 ** repetition * (0.5 + Math.random()), policy.longestWait);
}

/** Return what is known of a failure that a retry may fix; undefined for an answer that is final. */
function knownOf(outcome: Outcome): Repeat | undefined {
  if (outcome instanceof ConnectionFailed) return outcome.mayHaveArrived ? Repeat.ANY : Repeat.UNSENT;
  const code = problemDocument(outcome)?.code;
  if (code === "rate_limited" || code === "idempotency_conflict") {
    return retryAfter(outcome.headers) === undefined ? undefined : Repeat.REFUSED;
  }
  if (code === "service_unavailable") return Repeat.REFUSED;
  return (code === undefined || code === "internal_error") && outcome.status >= 500 ? Repeat.ANY : undefined;
}

/** Return the seconds in `Retry-After`, which may be a number or a date. */
function retryAfter(headers: Headers): number | undefined {
  const told = headers.get("retry-after");
  if (told === null) return undefined;
  if (/^[0-9]+$/.test(told)) return Number(told);
  const at = Date.parse(told);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - Date.now()) / 1000);
}

function failure(outcome: Outcome): Error {
  if (outcome instanceof ConnectionFailed) return outcome;
  const document = problemDocument(outcome);
  if (!document) return new UnexpectedAnswer(outcome.status);
  const kind = Object.hasOwn(PROBLEMS, document.code) ? PROBLEMS[document.code as keyof typeof PROBLEMS] : Problem;
  return new kind(document, retryAfter(outcome.headers));
}

function problemDocument({ status, json }: Answer): ProblemDocument | undefined {
  if (status === 200 || typeof json !== "object" || json === null) return undefined;
  const document = json as Partial<ProblemDocument>;
  return typeof document.code === "string" ? { status, ...document, code: document.code } : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
