// A shop whose users log in by better-auth, with the file of docs/with-better-auth.md beside it as auth.mjs. Each code comes
// from the test, which reads it where the user would.
import { createInterface } from "node:readline";

import { auth } from "./auth.mjs";

const { PHONE, MAIL } = process.env;
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function ask(what) {
  console.log(what);
  return (await lines.next()).value.trim();
}

async function post(path, body) {
  const answer = await auth.handler(
    new Request(`http://localhost:3000/api/auth${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", "accept-language": "de", origin: "http://localhost:3000" },
      body: JSON.stringify(body),
    }),
  );
  return { status: answer.status, body: await answer.json().catch(() => null) };
}

const seen = {};
const premium = await post("/phone-number/send-otp", { phoneNumber: "+4990012345678" });
seen.premium = [premium.status, premium.body?.message];
await post("/phone-number/send-otp", { phoneNumber: PHONE });
seen.wrong = (await post("/phone-number/verify", { phoneNumber: PHONE, code: "000000" })).status;
const code = await ask("code of the phone");
const verified = await post("/phone-number/verify", { phoneNumber: PHONE, code });
seen.phone = [verified.status, verified.body?.user?.phoneNumber];
await post("/email-otp/send-verification-otp", { email: MAIL, type: "sign-in" });
const otp = await ask("code of the mail");
const signedIn = await post("/sign-in/email-otp", { email: MAIL, otp });
seen.mail = [signedIn.status, signedIn.body?.user?.email];
console.log(JSON.stringify(seen));
process.exit(0);
