import { WatchwordVerify } from "./element.js";

if (!customElements.get("watchword-verify")) customElements.define("watchword-verify", WatchwordVerify);

export { WatchwordVerify };
