// Calls to the service. Every failure becomes a Problem with a code. An answer comes with the moment at which it was asked for.
import { now } from "./session.js";

const ANSWER_MS = 15_000; // the longest that an answer may take; a phone on a bad line needs some
const RETRY_MS = [700, 2_000]; // pauses before a call that does no harm twice is repeated

export class Problem extends Error {
  constructor(code, members = {}) {
    super(members.detail ?? code);
    Object.assign(this, members, { code });
  }
}

export class Service {
  /** `language` returns the language that a message should be in. */
  constructor(base, apiKey, language) {
    Object.assign(this, { base: base.replace(/\/+$/, ""), apiKey, language });
  }

  settings(session) {
    return this.#call("GET", `/session/settings${query(session)}`);
  }

  channels(session) {
    return this.#call("GET", `/session/channels${query(session)}`);
  }

  /** Say what became of the code over each channel that it went over. */
  delivery(session) {
    return this.#call("GET", `/session/delivery${query(session)}`);
  }

  create(body) {
    return this.#call("POST", "/session/create", body);
  }

  send(body) {
    return this.#call("POST", "/session/send", body);
  }

  /** A check spends a try, so it is never repeated by itself. */
  check(body) {
    return this.#call("POST", "/session/check", body, []);
  }

  async #call(method, path, body, pauses = RETRY_MS) {
    for (const pause of [...pauses, null]) {
      try {
        return await this.#once(method, path, body);
      } catch (problem) {
        const isPassing = problem.code === "network" || problem.code === "service_unavailable";
        if (!isPassing || pause === null) throw problem;
        await new Promise((go) => setTimeout(go, pause));
      }
    }
  }

  async #once(method, path, body) {
    let response, answer;
    const asked = now();
    try {
      response = await fetch(this.base + path, {
        method,
        headers: {
          "x-api-key": this.apiKey,
          "accept-language": this.language(),
          ...(body && { "content-type": "application/json" }),
        },
        body: body && JSON.stringify(body),
        credentials: "omit",
        referrerPolicy: "no-referrer",
        cache: "no-store",
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      answer = await response.json();
    } catch {
      if (response && response.status < 500) throw new Problem("internal_error");
      console.warn(
        `watchword-verify: no answer from ${this.base}. If it is up, list ${location.origin} in the project's origins` +
          " and look whether the API key is right.",
      );
      throw new Problem("network");
    }
    if (!response.ok) throw new Problem(answer.code ?? "internal_error", answer);
    return { answer, asked, date: Date.parse(response.headers.get("date")) };
  }
}

const query = (session) => (session ? `?session_id=${encodeURIComponent(session)}` : "");
