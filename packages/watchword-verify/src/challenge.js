// Challenges of every kind. A vendor's script is loaded only when the service demands that vendor's challenge.
import { solvePuzzle } from "./puzzle.js";
import { Problem } from "./service.js";

const ACTION = "send_code"; // the name under which vendors report what the challenge was for
const LOAD_MS = 15_000; // for a vendor's script
const MAX_CHALLENGES = 3; // answers that are tried for one call before the user is told

const SCRIPTS = {
  turnstile: () => "https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit",
  hcaptcha: () => "https://js.hcaptcha.com/1/api.js?render=explicit&recaptchacompat=off",
  recaptcha: (key) => `https://www.google.com/recaptcha/api.js?render=${encodeURIComponent(key)}`,
};
const GLOBALS = { turnstile: "turnstile", hcaptcha: "hcaptcha", recaptcha: "grecaptcha" };

/**
 * Make a call that the service may demand a challenge for. `known` is the challenge that the settings named, if any;
 * `solve` returns the answer to one.
 */
export async function withChallenge(call, body, known, solve) {
  let challenge = known?.enabled ? known : null;
  for (let round = 1; ; round++) {
    const token = challenge && (await solve(challenge));
    try {
      return await call(token ? { ...body, challenge_token: token } : body);
    } catch (problem) {
      if (round === MAX_CHALLENGES) throw problem;
      if (problem.code === "challenge_required") challenge = problem;
      else if (problem.code !== "challenge_failed") throw problem;
    }
  }
}

/** Solve a challenge. A vendor's widget is put into a child of `host`, outside the shadow tree, where it can work. */
export async function solve({ provider, api_key: key }, host, options) {
  if (provider === "altcha") return solvePuzzle(key);
  if (!SCRIPTS[provider]) throw new Problem("challenge_failed", { detail: `The challenge ${provider} is not known.` });
  const vendor = await load(provider, SCRIPTS[provider](key));
  if (provider === "recaptcha") {
    try {
      return await vendor.execute(key, { action: ACTION });
    } catch {
      // The key is one of version 2, which shows a box.
    }
  }
  const place = document.createElement("div");
  place.slot = "challenge";
  host.append(place);
  try {
    return await answerOf(vendor, provider, place, key, options);
  } finally {
    place.remove();
  }
}

function answerOf(vendor, provider, place, key, { theme, language, isGone }) {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Problem("challenge_failed"));
    isGone.addEventListener("abort", fail);
    vendor.render(place, {
      sitekey: key,
      theme,
      ...(provider === "recaptcha" ? {} : { [provider === "turnstile" ? "language" : "hl"]: language }),
      ...(provider === "turnstile" ? { action: ACTION } : {}),
      callback: resolve,
      "error-callback": fail,
      "expired-callback": fail,
      "chalexpired-callback": fail,
      "close-callback": fail,
    });
  });
}

const loading = new Map();

/** Return the vendor's object. A script that failed is asked for again at the next try. */
function load(provider, address) {
  const found = loading.get(address) ?? loadScript(address).then(() => ready(globalThis[GLOBALS[provider]]));
  loading.set(address, found);
  found.catch(() => loading.delete(address));
  return found;
}

function loadScript(address) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    const fail = () => {
      script.remove();
      reject(new Problem("challenge_blocked"));
    };
    const timer = setTimeout(fail, LOAD_MS);
    Object.assign(script, { src: address, async: true, onerror: fail });
    script.onload = () => {
      clearTimeout(timer);
      resolve();
    };
    document.head.append(script);
  });
}

function ready(vendor) {
  if (!vendor) throw new Problem("challenge_blocked");
  return new Promise((resolve) => (vendor.ready ? vendor.ready(() => resolve(vendor)) : resolve(vendor)));
}
