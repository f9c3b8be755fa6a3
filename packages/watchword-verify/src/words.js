// The words of the form. English is built in; every other language is a file beside the module, loaded when it is needed.
import ENGLISH from "./languages/en.json";

export const LANGUAGES =
  "ar cs de en es fa fr hi id it ja kk ko nl pl pt ru sv th tr uk uz vi zh".split(" ");
const RIGHT_TO_LEFT = new Set(["ar", "fa"]);

/** Return the first of these language tags that the form speaks, else English. */
export function chooseLanguage(tags) {
  for (const tag of tags) {
    const language = tag?.toLowerCase().split("-")[0];
    if (LANGUAGES.includes(language)) return language;
  }
  return "en";
}

export const directionOf = (language) => (RIGHT_TO_LEFT.has(language) ? "rtl" : "ltr");

/** Return the words of a language; English, if its file cannot be loaded. `folder` is the address of the files. */
export async function loadWords(language, folder) {
  if (language === "en") return ENGLISH;
  try {
    const response = await fetch(new URL(`${language}.json`, folder), { credentials: "omit" });
    return response.ok ? { ...ENGLISH, ...(await response.json()) } : ENGLISH;
  } catch {
    return ENGLISH;
  }
}

/** Fill the placeholders of a sentence. */
export const fill = (text, values = {}) => text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");

const PROBLEMS = {
  invalid_code: "e_wrong",
  too_many_attempts: "e_attempts",
  session_expired: "e_expired",
  session_not_found: "e_expired",
  session_verified: "e_used",
  channel_timeout: "e_timeout",
  too_many_sends: "e_sends",
  rate_limited: "e_rate",
  recipient_not_allowed: "e_recipient",
  channel_not_available: "e_channel",
  channel_not_active: "e_channel",
  challenge_failed: "e_challenge",
  challenge_required: "e_challenge",
  challenge_blocked: "e_challenge",
  challenge_unavailable: "e_challenge",
  network: "e_network",
  missing_api_key: "e_setup",
  invalid_api_key: "e_setup",
  wrong_key_kind: "e_setup",
  host_not_allowed: "e_setup",
};
const WAITS = new Set(["too_many_attempts", "too_many_sends", "rate_limited", "channel_timeout"]);

/** Return a problem in words. `kind` is that of the recipient: `phone` or `email`. */
export function tell(words, problem, kind) {
  const isRecipient = problem.code === "validation_error" && problem.errors?.some(({ field }) => field === "to");
  const sentence = isRecipient ? words[`e_${kind}`] : words[PROBLEMS[problem.code] ?? "e_service"];
  const more = [];
  if (problem.code === "invalid_code" && problem.attempts_left != null)
    more.push(fill(words.e_tries, { n: problem.attempts_left }));
  if (WAITS.has(problem.code) && problem.retry_after) more.push(fill(words.wait, { time: duration(problem.retry_after) }));
  else if (problem.code === "too_many_sends" || problem.code === "rate_limited") more.push(words.later);
  return [sentence, ...more].join(" ");
}

/** Return that a send over a channel failed, and what is left. */
export function tellUnsent(words, channel, hasOthers) {
  const sentence = fill(words.e_unsent, { channel });
  return hasOthers ? `${sentence} ${words.e_other_way}` : sentence;
}

/** Return that the code went over another channel by itself; `unsent` is the one over which it could not be sent. */
export function tellMoved(words, channel, unsent) {
  if (!unsent) return fill(words.also, { channel });
  return `${fill(words.e_unsent, { channel: unsent })} ${fill(words.instead, { channel })}`;
}

/** Return seconds as a clock shows them: 2:05, or 1:02:05. */
export function duration(seconds) {
  const rest = Math.max(0, Math.ceil(seconds));
  const parts = rest < 3600 ? [Math.floor(rest / 60)] : [Math.floor(rest / 3600), Math.floor((rest % 3600) / 60)];
  return [...parts, rest % 60].map((part, index) => (index ? String(part).padStart(2, "0") : part)).join(":");
}
