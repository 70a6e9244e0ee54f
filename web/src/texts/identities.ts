import { catalog } from './catalog.ts'

/** Single sign-on: the button of the sign-in page, and the accounts in the profile. */
export const texts = catalog('identities', {
  signInWith: (issuer: string) => `Sign in with ${issuer}`,
  withPassword: 'Owners: sign in with a password',
  stillSignedIn: (issuer: string) => `You are signed out of Stowage. You may still be signed in at ${issuer}.`,
  signOutAt: (issuer: string) => `Sign out at ${issuer}, too`,
  onlySingleSignOn: 'This workspace uses single sign-on. New accounts need no password.',
  linkedAccounts: 'Linked accounts',
  linkedAccountsHelp: 'The accounts with which you can sign in without your password.',
  loading: 'Loading the linked accounts',
  account: 'Account',
  linked: 'Linked',
  lastUsed: 'Last used',
  linkAccount: (issuer: string) => `Link an account at ${issuer}`,
  linkTitle: (issuer: string) => `Link your account at ${issuer}?`,
  theIssuer: 'the issuer',
  link: 'Link',
  linkHelp: (issuer: string) => `Anyone who signs in to this account at ${issuer} can then use Stowage as you.`,
  inviteTitle: 'Link your account',
  inviteHelp: (account: string) =>
    `An administrator has invited you to link an account at an issuer with ${account}. You then sign in with it.`,
  inviteWithout: 'This page opens with the link that an administrator has given you.',
  inviteElsewhere: 'This sign-in began in another tab or browser. Open the link of your invite again.',
  acceptTitle: (issuer: string, account: string) => `Link your account at ${issuer} with ${account}?`,
  acceptHelp: (identity: string, account: string) =>
    `Anyone who signs in as ${identity} can then use Stowage as ${account}. Continue only if both are yours.`,
  removeTitle: (account: string) => `Remove ${account}?`,
  removeHelp: 'You can no longer sign in with it, and the sessions that began with it end.',
})
