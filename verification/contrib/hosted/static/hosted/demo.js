// The demo: the inbox shows what was sent, and the token that the form gives is redeemed as a server does.
const POLL_MS = 1_000; // a message is there a second after it was sent
const inbox = document.querySelector("#inbox");
const empty = document.querySelector("#empty");
const result = document.querySelector("#result");
const again = document.querySelector(".again");
const verify = document.querySelector("watchword-verify");
const openedAt = Date.now();
let shown = "";

function h(name, given, ...nodes) {
  const made = Object.assign(document.createElement(name), given);
  made.append(...nodes);
  return made;
}

function card(message) {
  const isNew = Date.parse(message.at) > openedAt;
  return h(
    "li",
    { className: isNew ? "message new" : "message" },
    h("img", { src: message.icon, alt: message.channel, width: 36, height: 36 }),
    h(
      "div",
      {},
      h("p", { className: "to" }, h("strong", {}, message.to), h("time", { dateTime: message.at }, clock(message.at))),
      ...(message.subject ? [h("p", { className: "subject" }, message.subject)] : []),
      h("p", { className: "text" }, message.text),
      h("p", { className: "code" }, message.code),
    ),
  );
}

const clock = (at) => new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });

async function look() {
  try {
    const answer = await fetch("/demo/inbox", { cache: "no-store" });
    const { messages } = await answer.json();
    const told = JSON.stringify(messages);
    if (answer.ok && told !== shown) {
      shown = told;
      inbox.replaceChildren(...messages.map(card));
      empty.hidden = messages.length > 0;
    }
  } catch {
    // The service is starting again; the next look finds it.
  }
  setTimeout(look, POLL_MS);
}

verify.addEventListener("verified", async ({ detail }) => {
  const body = JSON.stringify({ verify_token: detail.verify_token });
  again.hidden = false;
  let words, told;
  try {
    const answer = await fetch("/demo/redeem", { method: "POST", body, headers: { "content-type": "application/json" } });
    told = await answer.json();
    words = answer.ok ? `${answer.status} OK` : String(answer.status);
    result.className = answer.ok ? "result good" : "result bad";
  } catch {
    words = "No answer";
    result.className = "result bad";
  }
  result.replaceChildren(
    h("p", { className: "call" }, h("code", {}, "POST /session/verify"), h("span", {}, words)),
    h("pre", {}, h("code", {}, told ? JSON.stringify(told, null, 2) : "")),
  );
});

again.addEventListener("click", () => {
  again.hidden = true;
  result.className = "result";
  result.replaceChildren(h("p", { className: "none" }, "Waiting for a verify token …"));
  verify.reset();
});

look();
