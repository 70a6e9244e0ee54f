import { catalog } from './catalog.ts'

/** The settings of single sign-on. */
export const texts = catalog('issuers', {
  singleSignOn: 'Single sign-on',
  help: 'People sign in with their accounts at these OpenID Connect issuers. They link an existing account in their profile, or get a new one with an invite. An email address never finds an account.',
  ownersOnly: 'Only owners add, change and remove issuers.',
  loading: 'Loading the issuers',
  issuers: 'Issuers',
  noIssuers: 'No issuers yet. People sign in with passwords.',
  newIssuer: 'New issuer',
  addIssuer: 'Add issuer',
  enabled: 'Enabled',
  disabled: 'Disabled',
  fromSettings: 'Set by the operator of the server',
  replaced: 'The operator has set this issuer, too: its settings count, and those here do not',
  newAccounts: 'New accounts',
  byInvite: 'With an invite',
  byGroup: (claim: string) => `Also by the groups in “${claim}”`,
  byDomain: (domains: string) => `Also with a verified address in ${domains}`,
  removeTitle: (name: string) => `Remove ${name}?`,
  removeHelp:
    'Sessions that began with it end, and accounts are no longer linked with it. People without a password need a link for a new one, which you create under Members. To keep the links, disable the issuer instead.',

  test: 'Test sign-in',
  testHelp:
    'Opens the issuer in another tab. Afterwards, the tab shows what the issuer says about you and what a sign-in would do. Nothing is changed.',
  popupBlocked: 'The browser did not open another tab. Allow this site to open one, and try again.',

  nameHelp: 'The name on the button of the sign-in page.',
  address: 'Address of the issuer',
  addressHelp: 'Exactly as it appears in its metadata, for example https://id.example.com/realms/main.',
  addressFixed: 'The address cannot be changed, because another issuer has other accounts.',
  clientId: 'Client ID',
  clientSecret: 'Client secret',
  secretKept: 'Leave it empty to keep the present one.',
  groupsClaim: 'Claim with groups',
  groupsClaimHelp:
    'For example, “groups”. People then join the groups of this workspace that the issuer names, and such a group gives new people an account.',
  prompt: 'What people who are already signed in at the issuer do',
  prompts: {
    DEFAULT: 'The issuer decides',
    LOGIN: 'Sign in again',
    SELECT_ACCOUNT: 'Choose an account',
    CONSENT: 'Consent to the sign-in',
  },
  maxAge: 'Minutes until the issuer has to ask again',
  maxAgeHelp: 'After this time, the issuer has to ask people again who they are. Empty for no limit.',
  domains: 'Domains of email addresses',
  domainsHelp: 'Separated by commas. People with a verified address in one of them get an account.',
  joinedGroups: 'Their new accounts join these groups:',
  noGroups: 'Their new accounts have no access. Create groups to give them some.',
  loadingGroups: 'Loading the groups',

  passwords: 'Passwords and passkeys',
  loadingPasswords: 'Loading who may use passwords and passkeys',
  whoUsesPasswords: 'Who can sign in with a password or a passkey',
  everybody: { title: 'Everybody', help: 'Everybody who has a password or a passkey can sign in with it.' },
  someOwners: {
    title: 'Only some owners',
    help: 'All others need single sign-on. Their sessions that began with a password or a passkey end now. API keys keep working.',
  },
  onlyOwners: 'Only some owners can sign in with a password or a passkey. All others need single sign-on.',
  shutOut: (people: string, isMore: boolean) =>
    `These people have linked no account of an enabled issuer, and cannot sign in afterwards: ${people}${isMore ? ', and others' : ''}. They can link one in their profile first, or later with an invite: Settings → Members → Link sign-in.`,
  waysBackIn: 'These owners are the way back in while an issuer does not respond:',

  addresses: 'Addresses for the issuer',
  addressesHelp:
    'Register Stowage at the issuer as a confidential web application, with the redirect URI that the list shows for it. Each issuer has its own, so add the issuer first. It can be disabled until it works.',
  redirectUri: 'Redirect URI',
  backChannelLogout: 'Back-channel logout',
  frontChannelLogout: 'Front-channel logout',
  afterLogout: 'Redirect URI after a logout',
  copy: (title: string) => `Copy: ${title}`,
})
