/** The addresses to which a browser takes a code: RFC 9700, section 2.1, and RFC 8252. */
import { isLoopback } from '../../lib/loopback.ts'
import { OAuthError } from './oauth-error.ts'

export const maxRedirectUris = 20
/** Characters of an address. */
const maxLength = 1000
/** Visible ASCII without the characters that browsers and parsers read in different ways. */
const characters = /^[!$%&'()*+,\-./0-9:;=?@A-Z[\]_a-z~]+$/
/** The scheme of an application on the same machine, made of a domain that its author owns: RFC 8252, section 7.1. */
const privateScheme = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/
/** The schemes of well-known editors that are no domains. */
const editorSchemes = new Set(['cursor:', 'vscode:', 'vscode-insiders:', 'windsurf:'])
const loopbackPort = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)):\d{1,5}(?=[/?]|$)/

/** Returns the parsed address. @throws OAuthError */
export function parseRedirectUri(text: string): URL {
  const url = text.length <= maxLength && characters.test(text) && URL.canParse(text) ? new URL(text) : null
  if (!url) throw refused('It must be an absolute address in ASCII, without a fragment.')
  if (url.username !== '' || url.password !== '') throw refused('It cannot contain a password.')
  if (url.protocol === 'https:') return url
  if (url.protocol === 'http:') {
    if (isLoopback(url.hostname)) return url
    throw refused('Use https, or http on the machine of the person: http://127.0.0.1/.')
  }
  if (privateScheme.test(url.protocol) || editorSchemes.has(url.protocol)) return url
  throw refused('Its scheme must be https, or the reversed domain of the application, such as com.example.app.')
}

function refused(why: string): OAuthError {
  return new OAuthError('invalid_redirect_uri', `The redirect address is not permitted. ${why}`)
}

/** Returns whether an application has registered an address. On the machine itself, any port is the same: RFC 8252, section 7.3. */
export function isRegistered(redirectUri: string, registered: readonly string[]): boolean {
  const known = withoutLoopbackPort(redirectUri)
  return registered.some(each => each === redirectUri || withoutLoopbackPort(each) === known)
}

function withoutLoopbackPort(text: string): string {
  return text.replace(loopbackPort, '$1')
}

/** Returns whether an address leads to a program on the machine of the person. Any program there can be the one. */
export function isOnMachine(redirectUri: string): boolean {
  return new URL(redirectUri).protocol !== 'https:'
}

/** Returns where an address leads, for people: a host, this machine, or the scheme of an application. */
export function destinationOf(redirectUri: string): string {
  const { protocol, host, hostname } = new URL(redirectUri)
  if (protocol === 'http:' || protocol === 'https:') return protocol === 'http:' ? hostname : host
  return protocol.slice(0, -1)
}
