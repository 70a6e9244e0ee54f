/** The labels and explanations of each status of a provider. */
export const providerStatuses = {
  CONNECTED: { title: 'Connected', badge: 'good', help: null, consentLabel: null },
  NEEDS_AUTHORIZATION: {
    title: 'Needs consent',
    badge: 'warn',
    help: 'Someone has to give consent before this storage can be used.',
    consentLabel: 'Give consent',
  },
  NEEDS_RECONNECT: {
    title: 'Needs to be reconnected',
    badge: 'bad',
    help: 'The consent has expired or was withdrawn.',
    consentLabel: 'Reconnect',
  },
  UNAVAILABLE: {
    title: 'Unavailable',
    badge: 'bad',
    help: 'This storage did not work when it was last used.',
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
  return (status === 'NEEDS_AUTHORIZATION' ? null : statusReason) ?? providerStatuses[status].help
}
