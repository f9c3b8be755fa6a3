// The service's own challenge: a proof of work of ALTCHA's second protocol, solved by the browser's own cryptography.
import { Problem } from "./service.js";

const AT_ONCE = 16; // tries under way together: the browser spreads them over its threads
const SOLVE_MS = 60_000; // after which a very slow device gives up
const MAX_COUNTER = 2 ** 32;

/** Fetch the puzzle at `address` and return its answer, as the service reads it. */
export async function solvePuzzle(address) {
  if (!globalThis.crypto?.subtle) throw new Problem("challenge_failed", { detail: "The page is not served over https." });
  const puzzle = await fetchPuzzle(address);
  const started = performance.now();
  const { counter, key } = await search(puzzle.parameters, started + SOLVE_MS);
  const solution = { counter, derivedKey: key, time: performance.now() - started };
  return btoa(JSON.stringify({ challenge: puzzle, solution }));
}

async function fetchPuzzle(address) {
  let response, puzzle;
  try {
    response = await fetch(address, { credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" });
    puzzle = await response.json();
  } catch {
    throw new Problem("network");
  }
  if (!response.ok) throw new Problem(puzzle.code ?? "challenge_unavailable", puzzle);
  return puzzle;
}

async function search({ algorithm, cost, keyLength = 32, keyPrefix, nonce, salt }, until) {
  const [, hash] = /^PBKDF2\/(SHA-\d+)$/.exec(algorithm) ?? [];
  if (!hash) throw new Problem("challenge_failed", { detail: `The puzzle's algorithm ${algorithm} is not known.` });
  const settings = { name: "PBKDF2", hash, salt: bytes(salt), iterations: cost };
  const start = bytes(nonce);
  for (let first = 0; first < MAX_COUNTER && performance.now() < until; first += AT_ONCE) {
    const tries = Array.from({ length: AT_ONCE }, (_, index) => derive(settings, start, first + index, keyLength));
    const keys = await Promise.all(tries);
    const index = keys.findIndex((key) => key.startsWith(keyPrefix));
    if (index >= 0) return { counter: first + index, key: keys[index] };
  }
  throw new Problem("challenge_failed", { detail: "The puzzle took too long." });
}

async function derive(settings, nonce, counter, keyLength) {
  const password = new Uint8Array(nonce.length + 4);
  password.set(nonce);
  new DataView(password.buffer).setUint32(nonce.length, counter);
  const material = await crypto.subtle.importKey("raw", password, "PBKDF2", false, ["deriveBits"]);
  return hex(new Uint8Array(await crypto.subtle.deriveBits(settings, material, keyLength * 8)));
}

const bytes = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hex = (array) => Array.from(array, (byte) => byte.toString(16).padStart(2, "0")).join("");
