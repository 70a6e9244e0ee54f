import type { ReactNode } from 'react'

/** The frame of every page, and the message of a page that fails. */
export const texts = {
  skip: 'Skip to content',
  home: (workspace: string) => `${workspace}: home`,
  mainNavigation: 'Main',
  files: 'Files',
  settings: 'Settings',
  signOutTitle: 'Sign out now?',
  signOutHelp:
    'Some uploads are not complete, and signing out stops them. To continue a large upload later, choose its file again.',
  pageFailed: 'This page could not be shown',
  notFound: 'Page not found',
  notFoundHelp: (link: (text: string) => ReactNode) => <>Check the address, or go to your {link('files')}.</>,
  offline: 'You are offline. Trying again…',
  unreachable: 'The server cannot be reached. Trying again…',
  unavailable: (status: number) => `Server unavailable (${status}). Trying again…`,
}
