/** Base64, with the functions that all runtimes have. */

export function decode(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
}

export function encode(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
