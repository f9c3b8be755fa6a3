// A form with [data-key="create" or "get"] asks the browser for a security key before it is sent, and carries the
// answer in its field "answer". What is asked for stands in data-options, as the service wrote it (WebAuthn).
const toBytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
const toText = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
const BUFFERS = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];

function read(options) {
  options.challenge = toBytes(options.challenge);
  if (options.user) options.user.id = toBytes(options.user.id);
  for (const list of [options.excludeCredentials, options.allowCredentials]) {
    for (const key of list || []) key.id = toBytes(key.id);
  }
  return options;
}

function write(credential) {
  const response = {};
  for (const name of BUFFERS) if (credential.response[name]) response[name] = toText(credential.response[name]);
  if (credential.response.getTransports) response.transports = credential.response.getTransports();
  return JSON.stringify({ id: credential.id, rawId: toText(credential.rawId), type: credential.type, response });
}

// The words that the page has in the reader's language.
const WORDS = () => document.getElementById("ww-words").dataset;

function words(error) {
  if (error.name === "InvalidStateError") return WORDS().sayKeyKnown;
  if (error.name === "SecurityError") return WORDS().sayKeyBarred;
  return WORDS().sayKeySilent;
}

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-key]");
  if (!form || form.elements.answer.value) return;
  event.preventDefault();
  if (!form.reportValidity()) return;
  const said = form.querySelector("[data-key-said]");
  const button = event.submitter;
  said.textContent = WORDS().sayKeyTouch;
  if (button) button.disabled = true;
  try {
    if (!window.PublicKeyCredential) throw new DOMException("", "SecurityError");
    const publicKey = read(JSON.parse(form.dataset.options));
    form.elements.answer.value = write(await navigator.credentials[form.dataset.key]({ publicKey }));
    form.submit();
  } catch (error) {
    said.textContent = words(error);
    if (button) button.disabled = false;
  }
});
