// One call of our TypeScript package; prints how it ended. The argument: [url, keys, method, arguments].
import { inspect } from "node:util";
import * as client from "watchword-client";

const [baseUrl, keys, method, given] = JSON.parse(process.argv[2]);
const watchword = new client.Watchword({ baseUrl, apiKey: keys.api_key, secretKey: keys.secret_key });
try {
  await watchword[method](...given);
  console.log(JSON.stringify({ error: null }));
} catch (error) {
  if (!(error instanceof client.WatchwordError)) throw error;
  const { name, code, retryAfter, mayHaveArrived, attemptsLeft } = error;
  const told = { code, retry_after: retryAfter, may_have_arrived: mayHaveArrived, attempts_left: attemptsLeft };
  console.log(JSON.stringify({ error: name, text: inspect([error, watchword], { depth: 9, showHidden: true }), ...told }));
}
