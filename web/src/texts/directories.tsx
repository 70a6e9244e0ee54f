import type { ReactNode } from 'react'

export const texts = {
  directories: 'Directories',
  help: 'A directory, such as Microsoft Entra, Okta or LDAP, can manage people and the members of groups.',
  from: { LDAP: 'From LDAP', SCIM: 'From SCIM' },
  loading: 'Loading the directories…',
  ldap: 'LDAP',
  noLdap: 'This server has no LDAP directory. Its operator sets STOWAGE_LDAP_URL.',
  ldapRead: (people: number, at: ReactNode) => (
    <>
      {people} people, read {at}
    </>
  ),
  ldapNotRead: 'The directory was not read yet.',
  scim: 'SCIM',
  scimHelp: 'Create a token, and enter it with the address below in the settings of your directory.',
  address: 'Address',
  copyAddress: 'Copy address',
  noTokens: 'There are no tokens.',
  token: 'Token',
  lastUsed: 'Last used',
  newToken: 'New token',
  create: 'Create token',
  issuer: 'People sign in at',
  issuerHelp: 'With an issuer, the externalId of each user has to be their subject there.',
  created: 'Copy the token now. It is not shown again.',
  copyToken: 'Copy token',
  revokeTitle: (name: string) => `Revoke ${name}?`,
  revokeHelp: 'The directory can change nothing from now on. Its people and groups stay.',
  managed: 'Managed by a directory or issuer',
} as const
