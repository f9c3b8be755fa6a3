// Building nodes. Text is only ever set as text, so that no word of the service or a project becomes markup.

/** Make an element. A `part` is its class too; a member `on…` is a listener; true is an empty attribute. */
export function h(tag, members = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(members)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) node.setAttribute(name, value === true ? "" : value);
  }
  if (members.part) node.className = members.part;
  node.append(...children.filter((child) => child != null && child !== false));
  return node;
}

/** Return a sentence with its placeholder {to} as a recipient that keeps its direction and stays on one line. */
export function sentence(text, to) {
  const [before, after = ""] = text.split("{to}");
  return [before, h("bdi", { dir: "ltr", part: "recipient" }, to), after];
}

const ADDRESSES = new Set(["https:", "http:", "tg:", "whatsapp:"]);

/** Return the address if a link may lead there, else null: a script is no address. */
export function safeAddress(text) {
  try {
    return ADDRESSES.has(new URL(text).protocol) ? text : null;
  } catch {
    return null;
  }
}

export function icon(channel) {
  const image = h("img", { part: "icon", src: channel.image_url, alt: "", width: 28, height: 28 });
  image.onerror = () => image.remove();
  return image;
}
