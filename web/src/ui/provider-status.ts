import { plainText } from '../texts/errors.ts'
import { texts } from '../texts/ui.ts'

/** The labels and explanations of each status of a provider. */
export const providerStatuses = {
  CONNECTED: { title: texts.connected, badge: 'good', help: null, consentLabel: null },
  NEEDS_AUTHORIZATION: {
    title: texts.needsAuthorization,
    badge: 'warn',
    help: texts.needsAuthorizationHelp,
    consentLabel: texts.authorize,
  },
  NEEDS_RECONNECT: {
    title: texts.authorizationExpired,
    badge: 'bad',
    help: texts.authorizationExpiredHelp,
    consentLabel: texts.reconnect,
  },
  UNAVAILABLE: {
    title: texts.unavailable,
    badge: 'bad',
    help: texts.unavailableHelp,
    consentLabel: null,
  },
} as const

/** Returns why a provider does not work: what the server recorded, or else a general explanation. */
export function statusHelp({
  status,
  statusReason,
}: {
  status: keyof typeof providerStatuses
  statusReason: string | null
}): string | null {
  const { help } = providerStatuses[status]
  return status === 'NEEDS_AUTHORIZATION' || statusReason === null ? help : plainText(statusReason, help)
}
