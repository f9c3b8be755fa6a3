// The sync flow in Twilio's library for Node.js, its errors included. `address.js` is the program in docs/from-twilio.md.

const client = require("./address.js");
const twilio = require("twilio");

const { TO, CODE, STRANGER, GUESSED, VERIFY_SERVICE_SID: SERVICE, API_KEY_SID, TWILIO_AUTH_TOKEN } = process.env;

async function refused(promise) {
  try {
    await promise;
  } catch (error) {
    return [error.status, error.code];
  }
  return "not refused";
}

async function main() {
  const service = client.verify.v2.services(SERVICE);
  const start = (to, channel, more) => service.verifications.create({ to, channel, ...more });
  const check = (values) => service.verificationChecks.create(values);
  const options = { httpClient: client.httpClient, accountSid: client.accountSid };
  const withKey = twilio(API_KEY_SID, TWILIO_AUTH_TOKEN, options);
  const stranger = twilio(client.accountSid, "ww_secret_unknown", options);
  const seen = {};

  const started = await start(TO, "sms");
  seen["started"] = [started.status, started.channel, started.valid, started.to];
  const wrong = await check({ to: TO, code: "000000" });
  seen["wrong"] = [wrong.status, wrong.valid, wrong.sid === started.sid];
  const fetched = await withKey.verify.v2.services(SERVICE).verifications(started.sid).fetch();
  const isSame = fetched.dateCreated.getTime() === started.dateCreated.getTime();
  seen["fetched"] = [fetched.status, fetched.sid === started.sid, isSame];
  const right = await check({ verificationSid: started.sid, code: CODE });
  seen["right"] = [right.status, right.valid];
  seen["again"] = await refused(check({ to: TO, code: CODE }));

  const sent = await start(STRANGER, "sms");
  seen["sends"] = sent.sendCodeAttempts.map((each) => each.channel);
  seen["too soon"] = await refused(start(STRANGER, "sms"));
  seen["too many sends"] = await refused(start(STRANGER, "call"));
  seen["canceled"] = (await service.verifications(STRANGER).update({ status: "canceled" })).status;
  seen["gone"] = await refused(service.verifications(sent.sid).fetch());

  await start(GUESSED, "sms");
  seen["guesses"] = [];
  for (let guess = 0; guess < 5; guess++) seen["guesses"].push((await check({ to: GUESSED, code: "nope" })).status);
  seen["too many guesses"] = await refused(check({ to: GUESSED, code: "nope" }));

  seen["no number"] = await refused(start("12", "sms"));
  seen["no channel"] = await refused(start(TO, "whatsapp"));
  seen["own code"] = await refused(start(TO, "sms", { customCode: "123456" }));
  seen["unknown key"] = await refused(stranger.verify.v2.services(SERVICE).verifications.create({ to: TO, channel: "sms" }));
  console.log(JSON.stringify(seen));
}

main();
