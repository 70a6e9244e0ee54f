import type { ReactNode } from 'react'

/** The pages for people who are not signed in. */
export const texts = {
  email: 'Email',
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
