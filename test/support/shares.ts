/** Makes share links and uses them as their recipients do. */
import type { Client, Data } from './client.ts'

export interface MadeShare {
  id: string
  url: string
  /** The token at the end of the link. */
  link: string
}

const mutation = 'mutation ($input: CreateShareInput!) { createShare(input: $input) { url share { id } } }'

export async function makeShare(app: Client, token: string, input: object): Promise<MadeShare> {
  const { url, share } = (await app.ask(mutation, { input }, token)).createShare
  return { id: share.id, url, link: url.slice(url.lastIndexOf('/') + 1) }
}

export async function revokeShare(app: Client, token: string, id: string): Promise<void> {
  await app.ask('mutation ($id: ID!) { revokeShare(id: $id) { id } }', { id }, token)
}

/** Returns the path of an endpoint of a share. */
export function sharePath(link: string, endpoint = '', query: Record<string, string> = {}): string {
  const search = new URLSearchParams(query).toString()
  return `/api/share/${link}${endpoint && `/${endpoint}`}${search && `?${search}`}`
}

/** The response to a recipient. */
export interface Got {
  status: number
  text: string
  /** The body of a JSON response. */
  body: Data
  /** The reason of an error, or null. */
  reason: string | null
  headers: Headers
}

type Init = RequestInit & { duplex?: 'half' }

/** Sends a request without any credential but the link. */
export async function ask(
  app: Pick<Client, 'request'>,
  link: string,
  endpoint = '',
  { query = {}, password, ...init }: Init & { query?: Record<string, string>; password?: string } = {},
): Promise<Got> {
  const headers = { ...Object.fromEntries(new Headers(init.headers ?? {})), ...passwordHeader(password) }
  const response = await app.request(sharePath(link, endpoint, query), { ...init, headers })
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  const body = isJson && text !== '' ? JSON.parse(text) : null
  const reason = body?.errors?.[0]?.extensions.reason ?? null
  return { status: response.status, text, body, reason, headers: response.headers }
}

/** HTTP headers have bytes, so the password is sent as the bytes of its UTF-8. */
export function passwordHeader(password: string | undefined): Record<string, string> {
  return password === undefined ? {} : { 'stowage-share-password': Buffer.from(password).toString('latin1') }
}

export const read = (app: Pick<Client, 'request'>, link: string, path: string, init: Parameters<typeof ask>[3] = {}) =>
  ask(app, link, 'content', { ...init, query: { path, ...init.query } })

export const list = (app: Pick<Client, 'request'>, link: string, path = '/', init: Parameters<typeof ask>[3] = {}) =>
  ask(app, link, 'entries', { ...init, query: { path, ...init.query } })

export const drop = (
  app: Pick<Client, 'request'>,
  link: string,
  path: string,
  body: string,
  query: Record<string, string> = {},
) => ask(app, link, 'files', { method: 'POST', body, query: { path, ...query } })
