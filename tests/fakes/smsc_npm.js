// A message centre by npm's `smpp`, which shares no code with ours. It prints its port, then one line of JSON for each
// message. Recipients that end in 1 are throttled at first, those in 2 have their receipt before the answer, those
// in 3 are reported as not delivered, by a text alone, and those in 4 answer Stop.
const smpp = require("smpp");

const throttled = new Set();
let last = 0x1000;
let receiver = null;

const server = smpp.createServer((session) => {
  session.on("error", () => {});
  const bind = (pdu) => {
    const isKnown = pdu.system_id === "watchword" && pdu.password === "secret08";
    session.send(pdu.response(isKnown ? { system_id: "npm" } : { command_status: smpp.ESME_RINVPASWD }));
  };
  for (const kind of ["transceiver", "transmitter", "receiver"]) {
    session.on(`bind_${kind}`, (pdu) => {
      if (kind !== "transmitter") receiver = session;
      bind(pdu);
    });
  }
  session.on("unbind", (pdu) => {
    console.log(JSON.stringify({ unbound: true }));
    session.send(pdu.response());
  });
  session.on("enquire_link", (pdu) => session.send(pdu.response()));
  session.on("submit_sm", (pdu) => {
    const to = pdu.destination_addr;
    if (to.endsWith("1") && !throttled.has(to)) {
      throttled.add(to);
      session.send(pdu.response({ command_status: smpp.ESME_RTHROTTLED }));
      return;
    }
    const id = ++last;
    const content = pdu.message_payload || pdu.short_message;
    const header = content.udh ? content.udh[0].toString("hex") : null;
    console.log(
      JSON.stringify({
        id: String(id), to, from: pdu.source_addr, text: content.message, header, coding: pdu.data_coding,
        sar: pdu.sar_total_segments ? [pdu.sar_msg_ref_num, pdu.sar_total_segments, pdu.sar_segment_seqnum] : null,
        validity: pdu.validity_period, ton: pdu.source_addr_ton, asked: pdu.registered_delivery,
      })
    );
    const accept = () => session.send(pdu.response({ message_id: String(id) }));
    if (!to.endsWith("2")) accept();
    if (pdu.registered_delivery) {
      const isLost = to.endsWith("3");
      const report = isLost
        ? { short_message: `id:${id} sub:001 dlvrd:000 stat:UNDELIV err:1C text:` }
        : { receipted_message_id: String(id), message_state: smpp.MESSAGE_STATE.DELIVERED, short_message: "" };
      const sent = { source_addr: to, destination_addr: pdu.source_addr, esm_class: 4, ...report };
      receiver.deliver_sm(sent, (answer) => console.log(JSON.stringify({ answered: answer.command_status })));
    }
    if (to.endsWith("4")) {
      receiver.deliver_sm({ source_addr: to, source_addr_ton: 1, destination_addr: pdu.source_addr, short_message: "Stop" });
    }
    if (to.endsWith("2")) accept();
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit()).resume(); // with whoever started it
