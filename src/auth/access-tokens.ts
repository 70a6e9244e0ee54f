/**
 * The credentials of connected applications. An access token names its connection, and this server has signed it. A refresh token is random,
 * and signed so that one that was used before is known without a list of them. A code is random.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { hashToken } from './api-key.ts'
import { bytesOfId, idBytes, idOfBytes } from './id.ts'
import type { Purpose, Secrets } from './secrets.ts'

/** The parts of the server that a token is for: all of it, or the MCP endpoint alone (RFC 8707). */
export const audiences = ['SERVER', 'MCP'] as const
export type Audience = (typeof audiences)[number]

export interface AccessClaims {
  /** The id of the connection. */
  keyId: string
  audience: Audience
  /** To the second. */
  expiresAt: Date
}

// The prefixes begin like that of an API key, so that the log redacts all of them: see `redactTokens`.
const accessPrefix = 'stwo_'
const refreshPrefix = 'stwr_'
const codePrefix = 'stwc_'
/** One for the audience, and four for the seconds of the expiry. */
const claimBytes = 5
/** Random, so that no two tokens are equal. */
const nonceBytes = 4
const randomLength = 20
/** 128 bits. */
const macBytes = 16
const accessPattern = /^stwo_[0-9a-f]{82}$/
const refreshPattern = /^stwr_[0-9a-f]{104}$/
const codePattern = /^stwc_[0-9a-f]{40}$/

/** Returns whether a credential has the form of an access token. */
export function isAccessToken(text: string): boolean {
  return text.startsWith(accessPrefix)
}

/** The beginning of all access tokens of a connection, as long as that of a key. */
export function accessTokenPrefix(keyId: string): string {
  return accessPrefix + keyId.slice(0, 7)
}

/** @param claims.expiresAt before the year 2106 */
export function signAccessToken(secrets: Secrets, { keyId, audience, expiresAt }: AccessClaims): string {
  const claims = Buffer.alloc(claimBytes)
  claims.writeUInt8(audiences.indexOf(audience), 0)
  claims.writeUInt32BE(Math.floor(expiresAt.getTime() / 1000), 1)
  return (
    accessPrefix + sign(secrets, 'access-token', Buffer.concat([bytesOfId(keyId), claims, randomBytes(nonceBytes)]))
  )
}

/** Returns what a token claims, also if it has expired; null if this server has not signed it. */
export function openAccessToken(secrets: Secrets, token: string): AccessClaims | null {
  if (!accessPattern.test(token)) return null
  const payload = verify(secrets, 'access-token', token.slice(accessPrefix.length))
  const audience = payload && audiences[payload.readUInt8(idBytes)]
  if (!payload || !audience) return null
  const expiresAt = new Date(payload.readUInt32BE(idBytes + 1) * 1000)
  return { keyId: idOfBytes(payload.subarray(0, idBytes)), audience, expiresAt }
}

export function generateRefreshToken(secrets: Secrets, keyId: string): { token: string; hash: Buffer } {
  const payload = Buffer.concat([bytesOfId(keyId), randomBytes(randomLength)])
  const token = refreshPrefix + sign(secrets, 'refresh-token', payload)
  return { token, hash: hashToken(token) }
}

/** Returns the id of the connection that a refresh token is or was for; null if this server has not signed it. */
export function connectionOf(secrets: Secrets, refreshToken: string): string | null {
  if (!refreshPattern.test(refreshToken)) return null
  const payload = verify(secrets, 'refresh-token', refreshToken.slice(refreshPrefix.length))
  return payload && idOfBytes(payload.subarray(0, idBytes))
}

export function generateCode(): { code: string; hash: Buffer } {
  const code = codePrefix + randomBytes(randomLength).toString('hex')
  return { code, hash: hashToken(code) }
}

export function isCode(text: string): boolean {
  return codePattern.test(text)
}

function sign(secrets: Secrets, purpose: Purpose, payload: Buffer): string {
  return Buffer.concat([payload, macOf(secrets.keys(purpose)[0], payload)]).toString('hex')
}

function verify(secrets: Secrets, purpose: Purpose, hex: string): Buffer | null {
  const signed = Buffer.from(hex, 'hex')
  const payload = signed.subarray(0, -macBytes)
  const mac = signed.subarray(-macBytes)
  return secrets.keys(purpose).some(key => timingSafeEqual(mac, macOf(key, payload))) ? payload : null
}

function macOf(key: Buffer, payload: Buffer): Buffer {
  return createHmac('sha256', key).update(payload).digest().subarray(0, macBytes)
}
