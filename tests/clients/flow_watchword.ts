// The flow, by our TypeScript package.
import { InvalidCode, TestLoginRefused, Watchword, type Event, type Message } from "watchword-client";

declare const process: { env: Record<string, string> };
const { BASE_URL, API_KEY, SECRET_KEY, TO, CODE } = process.env as Record<string, string>;
const watchword = new Watchword({ baseUrl: BASE_URL!, apiKey: API_KEY!, secretKey: SECRET_KEY! });

async function refused<Kind extends Error>(call: Promise<unknown>, kind: new (...given: never[]) => Kind): Promise<Kind> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof kind) return error;
  throw new Error(`not refused by ${kind.name}: ${String(error)}`);
}

function must(holds: boolean, name: string): void {
  if (!holds) throw new Error(name);
}

let session = await watchword.createSession(TO!, { channel: "sms", language: "sv" });
must((await watchword.sessionSettings(session.session_id)).code.length === 6, "settings");
must((await watchword.sessionChannels(session.session_id))[0]?.type === "sms", "channels");
const wrong = await refused(watchword.checkCode(session.session_id, "000000"), InvalidCode);
let checked = await watchword.checkCode(session.session_id, CODE!);
await refused(watchword.verify(checked.verify_token), TestLoginRefused);
session = await watchword.createSession(TO!);
checked = await watchword.checkCode(session.session_id, CODE!);
const verified = await watchword.verify(checked.verify_token, { allowTestLogins: true });
must(verified.recipient === TO && verified.isTest, "verified");
const [channel] = await watchword.manualChannels();
const sent = await watchword.sendMessage(TO!, channel!.type, { code: "493817" });
must((await watchword.openEnvelope(sent.code)) === "493817", "envelope");
const events: Event[] = [];
for await (const event of watchword.iterateEvents("0", { types: ["session.opened"] })) events.push(event);
must(events.length > 0 && events.every((event) => event.type === "session.opened"), "events");
must((await watchword.readEvent(events[0]!.id)).id === events[0]!.id, "event");
must((await watchword.listEvents("0", { limit: 1 })).events.length === 1 && !(await watchword.listEvents()).has_more, "list");
const pages = [
  { events: [{ id: "evt_1" }], after: "1-1", has_more: true },
  { events: [], after: "2-2", has_more: true },
  { events: [{ id: "evt_3" }], after: "3-3", has_more: false },
];
const asked: string[] = [];
const paged = new Watchword({
  baseUrl: BASE_URL!,
  secretKey: SECRET_KEY!,
  fetch: async (address) => {
    asked.push(new URL(String(address)).searchParams.get("after") ?? "");
    return Response.json(pages.shift());
  },
});
const ids: string[] = [];
for await (const event of paged.iterateEvents()) ids.push(event.id);
must(ids.join() === "evt_1,evt_3" && asked.join() === "0,1-1,2-2", "pages");
const sessions: string[] = [];
for await (const each of watchword.iterateSessions({ to: TO!, limit: 1 })) sessions.push(each.session_id);
must(sessions.length > 1 && new Set(sessions).size === sessions.length && sessions[0] === session.session_id, "sessions");
const message: Message = await watchword.readMessage(sent.message_id);
console.log(
  JSON.stringify({
    wrong: wrong.code,
    attempts_left: wrong.attemptsLeft,
    is_test: checked.is_test,
    phone: verified.phone,
    is_same: message.id === sent.message_id,
    status: message.status,
  }),
);
