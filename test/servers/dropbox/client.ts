import { Dropbox as Client } from 'dropbox'

interface Address {
  url: string
}

/** Sends the requests of Dropbox's SDK, which knows only https addresses, to a fake server. */
export function fetchFrom({ url }: Address): typeof fetch {
  return (input, init) => fetch(String(input).replace(/^https:\/\/(?:api|content)\.dropboxapi\.com\//, url), init)
}

export function connect(fake: Address, accessToken: string, more: object = {}): Client {
  return new Client({ accessToken, fetch: fetchFrom(fake), ...more })
}
