/** HTTP authentication: Basic (RFC 7617), Digest (RFC 7616) and Bearer (RFC 6750). */
import { createHash, randomBytes } from 'node:crypto'
import type { WebdavConfig } from './config.ts'

interface Challenge {
  realm: string
  nonce: string
  opaque: string | undefined
  algorithm: string
  hasQop: boolean
}

const hashes: Readonly<Record<string, string>> = { md5: 'md5', 'sha-256': 'sha256', 'sha-512-256': 'sha512-256' }

export class Authorization {
  readonly #token: string | undefined
  readonly #user: string
  readonly #password: string
  /** The scheme that the server has asked for; null before its first challenge. */
  #challenge: Challenge | 'basic' | null = null
  #count = 0

  constructor({ token, user = '', password = '' }: WebdavConfig) {
    this.#token = token
    this.#user = user
    this.#password = password
  }

  /** Returns the header for a request, if any. */
  header(method: string, target: string): string | undefined {
    if (this.#token !== undefined) return `Bearer ${this.#token}`
    if (this.#challenge === null) return undefined
    if (this.#challenge === 'basic') {
      return `Basic ${Buffer.from(`${this.#user}:${this.#password}`).toString('base64')}`
    }
    return this.#digest(this.#challenge, method, target)
  }

  /**
   * Reads the challenge of a response 401. Returns whether the request can be sent again with other credentials.
   * @param sent the header that the request had
   */
  answers(challenges: string | null, sent: string | undefined): boolean {
    if (this.#token !== undefined || this.#user === '' || challenges === null) return false
    const digest = parseDigest(challenges)
    if (digest) {
      const previous = this.#challenge
      this.#challenge = digest
      this.#count = 0
      // A server that has forgotten its nonce, or refuses the password, sends another one.
      return typeof previous !== 'object' || previous?.nonce !== digest.nonce
    }
    if (sent !== undefined || !/\bbasic\b/i.test(challenges)) return false
    this.#challenge = 'basic'
    return true
  }

  #digest({ realm, nonce, opaque, algorithm, hasQop }: Challenge, method: string, target: string): string {
    const [name = 'md5', isSession] = [algorithm.toLowerCase().replace(/-sess$/, ''), /-sess$/i.test(algorithm)]
    const hash = (text: string) =>
      createHash(hashes[name] ?? 'md5')
        .update(text)
        .digest('hex')
    const [count, own] = [(++this.#count).toString(16).padStart(8, '0'), randomBytes(16).toString('hex')]
    const person = hash(`${this.#user}:${realm}:${this.#password}`)
    const secret = isSession ? hash(`${person}:${nonce}:${own}`) : person
    const subject = hash(`${method}:${target}`)
    const response = hash(
      hasQop ? `${secret}:${nonce}:${count}:${own}:auth:${subject}` : `${secret}:${nonce}:${subject}`,
    )
    const texts = { username: this.#user, realm, nonce, uri: target, response, ...(opaque !== undefined && { opaque }) }
    const quoted = Object.entries(texts).map(([key, value]) => `${key}="${value.replace(/["\\]/g, '\\$&')}"`)
    const fields = hasQop ? [`qop=auth`, `nc=${count}`, `cnonce="${own}"`] : []
    return `Digest ${[...quoted, `algorithm=${algorithm}`, ...fields].join(', ')}`
  }
}

/** Returns null where the server offers no digest that can be computed. */
function parseDigest(challenges: string): Challenge | null {
  const start = /\bdigest\s/i.exec(challenges)
  if (!start) return null
  const fields = new Map<string, string>()
  for (const [, name = '', quoted, plain] of challenges
    .slice(start.index + start[0].length)
    .matchAll(/\b([a-z]{1,20})\s?=\s?(?:"((?:[^"\\]|\\.)*)"|([^\s,"]{1,1000}))/gi)) {
    // The fields of a second challenge follow those of the first.
    const key = name.toLowerCase()
    if (!fields.has(key)) fields.set(key, quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '')
  }
  const algorithm = fields.get('algorithm') ?? 'MD5'
  const [realm, nonce, qop] = ['realm', 'nonce', 'qop'].map(name => fields.get(name))
  if (realm === undefined || nonce === undefined) return null
  if (!(algorithm.toLowerCase().replace(/-sess$/, '') in hashes)) return null
  if (qop !== undefined && !qop.split(',').some(each => each.trim() === 'auth')) return null
  return { realm, nonce, opaque: fields.get('opaque'), algorithm, hasQop: qop !== undefined }
}
