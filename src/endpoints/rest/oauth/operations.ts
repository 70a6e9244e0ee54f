/** The descriptions of the consent pages in `/openapi.json`. */
import type { Reason } from '../../../errors.ts'
import { type Operation, text } from '../../../http/openapi/operation.ts'

const reasons: readonly Reason[] = [
  'INVALID_STATE',
  'SCOPE_REQUIRED',
  'PROVIDER_NOT_ALLOWED',
  'NOT_FOUND',
  'INVALID_CONFIG',
  'BACK_END_REFUSED',
  'BACK_END_FAULT',
  'BACK_END_CREDENTIALS',
  'NEEDS_RECONNECT',
  'BACK_END_RATE_LIMITED',
]

export const startConsent: Operation = {
  id: 'startConsent',
  tag: 'Consent',
  summary: 'The page that says who asks for consent and links to the provider.',
  description: 'People open it at the `authorizationUrl` of the GraphQL API.',
  security: [],
  query: { ticket: { description: 'The token in the `authorizationUrl`.', required: true, schema: text } },
  responses: {
    200: {
      description: 'A page.',
      headers: { 'Set-Cookie': { description: 'Identifies the browser until the consent ends.', schema: text } },
      content: { 'text/html': text },
    },
  },
  reasons,
  sendsPages: true,
}

export const completeConsent: Operation = {
  id: 'completeConsent',
  tag: 'Consent',
  summary: 'Receives the browser after the consent page of a provider (RFC 6749, section 4.1.2).',
  description: 'Each `state` works once, for ten minutes, and only with the cookie that the first page set.',
  security: [],
  query: {
    state: { description: 'The state of the consent.', required: true, schema: text },
    code: { description: 'The authorization code.', schema: text },
    error: { description: 'The error of a consent that was refused.', schema: text },
    error_description: { description: 'The explanation of the provider.', schema: text },
  },
  responses: { 200: { description: 'A page: the storage is connected.', content: { 'text/html': text } } },
  reasons: [...reasons, 'AUTHORIZATION_REFUSED'],
  sendsPages: true,
}
