/**
 * The server, as the console sees it: its client, the session, operations that are typed from the schema, and the keys of
 * cached results. Parts of the console take locations and functions from here, and get values of the API.
 */
import type { TadaDocumentNode } from 'gql.tada'
import { ShareLink, Stowage, StowageError } from '../../../packages/client/src/index.ts'
import { sessionClient, sessionHeader } from './server.ts'

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

/** Asks the person to confirm who they are. Resolves with false if they cancel. The frame of the pages sets it. */
let confirmIdentity: (() => Promise<boolean>) | null = null

export function onConfirmationNeeded(confirm: (() => Promise<boolean>) | null): void {
  confirmIdentity = confirm
}

/** Lets the person confirm who they are before anything needs it. Resolves with false if they cancel. */
export async function confirmNow(): Promise<boolean> {
  return (await confirmIdentity?.()) ?? false
}

/**
 * Runs a GraphQL operation. With `isAnonymous` it is sent without the cookie. If the server wants the person to confirm who they are,
 * asks them and runs it again.
 * @throws StowageError
 */
export async function ask<Result, Variables>(
  document: TadaDocumentNode<Result, Variables>,
  variables: Variables,
  { signal, isAnonymous = false }: { signal?: AbortSignal; isAnonymous?: boolean } = {},
): Promise<Result> {
  const send = () => (isAnonymous ? anonymous : stowage).graphql(document, variables, signal && { signal })
  try {
    return await send()
  } catch (error) {
    const isRefused = error instanceof StowageError && error.reason === 'CONFIRMATION_REQUIRED'
    if (!isRefused || !(await confirmIdentity?.())) throw error
    return await send()
  }
}

/** Returns whether no server responded, or only a proxy in front of it. */
export function isServerAway(error: unknown): error is StowageError {
  return error instanceof StowageError && (error.reason === 'NETWORK' || (error.status >= 502 && error.code === 'HTTP'))
}

export type { SharedEntry, SharedFacts } from '../../../packages/client/src/index.ts'
export { ShareLink } from '../../../packages/client/src/index.ts'

/** Returns the share link of this page. */
export function shareLinkOf(token: string): ShareLink {
  return new ShareLink({ link: addressOf(token), sendCookies: true })
}

/**
 * Opens a share link with its password, if it has one, and as the person who is signed in, if only some can open it. The browser keeps the
 * proof in a cookie.
 * @throws StowageError
 */
export function unlockShare(token: string, password?: string): Promise<void> {
  const options = { link: addressOf(token), sendCookies: true, headers: sessionHeader }
  return new ShareLink({ ...options, ...(password !== undefined && { password }) }).unlock()
}

function addressOf(token: string): string {
  return `${location.origin}${urlOf('/s/')}${encodeURIComponent(token)}`
}
