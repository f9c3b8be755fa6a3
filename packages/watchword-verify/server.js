// What a server gets that renders pages, as Next.js does: there is no element to define there. The browser defines it.
export class WatchwordVerify {}
