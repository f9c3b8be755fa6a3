/** Envelopes: the code of a manual send, encrypted for the secret key that sent it. */
import { decode } from "./base64.js";
import { EnvelopeRefused } from "./errors.js";

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Return the code in an envelope that was sent to this secret key. */
export async function openEnvelope(envelope: string, secretKey: string): Promise<string> {
  const [iv, sealed] = partsOf(envelope);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secretKey));
  const key = await crypto.subtle.importKey("raw", digest, "AES-GCM", false, ["decrypt"]);
  try {
    return new TextDecoder().decode(await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, sealed));
  } catch {
    throw new EnvelopeRefused("The envelope was changed, or it belongs to another secret key.");
  }
}

/** Return the IV, and the ciphertext with the tag behind it, as WebCrypto expects them. */
function partsOf(envelope: string): [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>] {
  const [label, ...parts] = envelope.split(":");
  try {
    const [iv, ciphertext, tag, ...others] = parts.map(decode);
    const isWhole = label === "aes256" && others.length === 0;
    if (isWhole && iv?.length === IV_BYTES && ciphertext && tag?.length === TAG_BYTES) {
      return [iv, Uint8Array.of(...ciphertext, ...tag)];
    }
  } catch {
    // not base64: the same sentence
  }
  throw new EnvelopeRefused("This is not an envelope.");
}
