import type { ReactNode } from 'react'

/** The frame of every page, the message of a page that fails, and the pages for people who are not signed in. */
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

  // The pages for people who are not signed in
  email: 'Email',
  nameOrEmail: 'Name or email',
  password: 'Password',
  signInTitle: 'Sign in',
  noAccount: (link: (text: string) => ReactNode) => <>No account yet? {link('Create one')}</>,
  createAccountTitle: 'Create an account',
  createOwnerTitle: 'Create the owner account',
  createAccount: 'Create account',
  ownerHelp: 'This workspace has no accounts yet. The first account owns it and can invite others.',
  inviteOnly: 'New members can join only with an invite. Ask an administrator for one.',
  closed: 'This workspace does not accept new members.',
  nameOptional: 'Name (optional)',
  nameHelp: 'Shown to other members.',
  passwordHelp: 'At least 12 characters. A sentence works well.',
  setupCode: 'Setup code',
  setupCodeHelp: 'The value of STOWAGE_SETUP_CODE on the server.',
  resetTitle: 'Set a new password',
  newPassword: 'New password',
  setPassword: 'Set password',
  resetDone: 'Your password was changed. Sign in with the new one.',
  resetWithoutToken:
    'This link is incomplete. Copy all of it into the address bar, or ask an administrator for a new one.',
  hasAccount: (link: (text: string) => ReactNode) => <>Already have an account? {link('Sign in')}</>,
}
