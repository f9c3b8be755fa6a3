// The flow, by openapi-fetch with the types that openapi-typescript makes.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

declare const process: { env: Record<string, string> };
const { BASE_URL, API_KEY, SECRET_KEY, TO, CODE } = process.env as Record<string, string>;

function client(key: string) {
  return createClient<paths>({ baseUrl: BASE_URL, headers: { "x-api-key": key } });
}

function problem(error: components["schemas"]["Problem"] | undefined): components["schemas"]["Problem"] {
  if (!error) throw new Error("no problem");
  return error;
}

function must<T>(data: T | undefined, error: unknown): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

const app = client(API_KEY);
const server = client(SECRET_KEY);

const created = await app.POST("/session/create", { body: { to: TO, type: "sms" } });
const session_id = must(created.data, created.error).session_id;
const refused = await app.POST("/session/check", { body: { session_id, code: "000000" } });
const wrong = problem(refused.error);
const code: components["schemas"]["ErrorCode"] = wrong.code;
const checked = await app.POST("/session/check", { body: { session_id, code: CODE } });
const right = must(checked.data, checked.error);
const redeemed = await server.POST("/session/verify", { body: { verify_token: right.verify_token } });
const verified = must(redeemed.data, redeemed.error);
const queued = await server.POST("/manual/send", { body: { to: TO, channel: "sms" } });
const sent = must(queued.data, queued.error);
const read = await server.GET("/manual/message/{id}", { params: { path: { id: sent.message_id } } });
const message = must(read.data, read.error);
console.log(
  JSON.stringify({
    wrong: code,
    attempts_left: wrong.attempts_left,
    is_test: right.is_test,
    phone: verified.phone,
    is_same: message.id === sent.message_id,
    status: message.status,
  }),
);
