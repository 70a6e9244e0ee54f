/** The state of a resumable upload, which the host stores as text. */
import type { StoragePath } from '../contract.ts'
import { uploadNotFound } from './errors.ts'

/** Encodes the path in base64url, since JSON could escape it to more than the maximum length of a state. */
export function formatState<State extends { path: StoragePath }>({ path, ...rest }: State): string {
  return JSON.stringify({ ...rest, path: Buffer.from(path).toString('base64url') })
}

/** Returns undefined for any other text, and for a state that `isValid` refuses. */
export function tryParseState<State extends { path: StoragePath }>(
  text: string,
  isValid: (state: Record<string, unknown>) => boolean,
): State | undefined {
  const { path, ...rest } = parseJson(text)
  if (typeof path !== 'string' || !isValid(rest)) return undefined
  return { ...rest, path: Buffer.from(path, 'base64url').toString() } as State
}

/** @throws NOT_FOUND */
export function parseState<State extends { path: StoragePath }>(
  text: string,
  isValid: (state: Record<string, unknown>) => boolean,
): State {
  const state = tryParseState<State>(text, isValid)
  if (state) return state
  throw uploadNotFound()
}

/** Returns the JSON object in a text; an empty object for any other text. */
export function parseJson(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}
