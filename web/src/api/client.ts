/**
 * The server, as the console sees it: its client, the session, operations that are typed from the schema, and the keys of
 * cached results. Parts of the console take locations and functions from here, and get values of the API.
 */
import type { TadaDocumentNode } from 'gql.tada'
import { ShareLink, Stowage, type StowageError } from '../../../packages/client/src/index.ts'
import { sessionClient } from './server.ts'

/** The path below which a proxy serves Stowage, such as "/stowage"; empty at the root. The server writes it into the page. */
export const basePath = document.querySelector<HTMLMetaElement>('meta[name="base-path"]')?.content ?? ''

/** Returns the URL of a path of the server. */
export function urlOf(path: string): string {
  return basePath + path
}

export { StowageError, sourcesOfJobs, type UploadOptions } from '../../../packages/client/src/index.ts'

const url = location.origin + basePath

/** The server itself has waited for a back end that does not respond, so its own errors are shown at once. */
const shouldRetry = ({ retryable, code }: StowageError, failures: number) =>
  retryable && (code === 'NETWORK' || code === 'HTTP') && failures <= 2

/** The server with the session of this browser. */
export const stowage = sessionClient({ url, shouldRetry })

/** The server without the cookie, because the server refuses every request with an ended session, signing in included. */
const anonymous = new Stowage({ url, shouldRetry })

/** Runs a GraphQL operation. With `isAnonymous` it is sent without the cookie. @throws StowageError */
export function ask<Result, Variables>(
  document: TadaDocumentNode<Result, Variables>,
  variables: Variables,
  { signal, isAnonymous = false }: { signal?: AbortSignal; isAnonymous?: boolean } = {},
): Promise<Result> {
  return (isAnonymous ? anonymous : stowage).graphql(document, variables, signal && { signal })
}

export type { SharedEntry, SharedFacts } from '../../../packages/client/src/index.ts'
export { ShareLink } from '../../../packages/client/src/index.ts'

/** Returns the share link of this page. The browser keeps the proof of its password in a cookie. */
export function shareLinkOf(token: string, password?: string): ShareLink {
  const link = `${location.origin}${urlOf('/s/')}${encodeURIComponent(token)}`
  return new ShareLink({ link, sendCookies: true, ...(password !== undefined && { password }) })
}
