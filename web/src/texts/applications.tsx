import type { ReactNode } from 'react'
import { catalog } from './catalog.ts'

const loopback = new Set(['127.0.0.1', '[::1]', 'localhost'])

/** Connected applications: the page on which a person consents, and the list in the profile. */
export const texts = catalog('applications', {
  connectTitle: (name: string) => `Connect ${name}?`,
  loadingRequest: 'Loading the request',
  asks: (name: ReactNode) => <>{name} asks for access to your files.</>,
  described: (host: string) => `The application is described by ${host}.`,
  describedOnMachine: (host: string) =>
    `The application is described by ${host}, but any program on this computer could ask in its name. Continue only if you have just added Stowage to this application yourself.`,
  undescribed:
    'Nobody vouches for this name. Continue only if you have just added Stowage to this application yourself.',
  destination: 'Returns to',
  thisComputer: 'this computer',
  endpoints: 'Can use',
  audiences: { SERVER: 'All endpoints of this server', MCP: 'The MCP endpoint for agents' },
  storagesHelp: 'The application can never do more than you can.',
  connect: 'Connect',
  refuse: 'Refuse',
  returning: (destination: string) => `You can close this page once ${destination} has opened.`,
  returnTo: (destination: string) => `Return to ${destination}`,
  invalidTitle: 'This application cannot be connected',
  noAccess: 'You do not have access to any files yet, so you cannot connect an application.',

  applications: 'Connected applications',
  applicationsHelp:
    'The agents and applications that you have connected. Each is also in the list of your API keys, and loses access as soon as you revoke it.',
  loading: 'Loading the connected applications',
  none: 'No application is connected.',
  application: 'Application',
  unfinished: 'The application has not completed the connection.',
  revokeHelp: 'The application loses access immediately. You can connect it again.',
  ofApplication: (destination: string) => `Application at ${destination}`,
})

/** The name of the machine to which the browser returns. */
export function placeOf(destination: string): string {
  return loopback.has(destination) ? texts.thisComputer : destination
}
