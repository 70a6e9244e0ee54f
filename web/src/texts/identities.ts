/** Single sign-on: the button of the sign-in page, and the accounts in the profile. */
export const texts = {
  signInWith: (issuer: string) => `Sign in with ${issuer}`,
  withPassword: 'Owners: sign in with a password',
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
  linkHelp: (issuer: string) => `Whoever signs in to this account at ${issuer} can then use Stowage as you.`,
  removeTitle: (account: string) => `Remove ${account}?`,
  removeHelp: 'You can no longer sign in with it, and the sessions that began with it end.',
} as const
