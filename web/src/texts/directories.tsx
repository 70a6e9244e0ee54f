import type { ReactNode } from 'react'
import { catalog } from './catalog.ts'

export const texts = catalog('directories', {
  directories: 'Directories',
  help: 'A directory, such as Microsoft Entra, Okta or LDAP, can manage people and the members of groups.',
  from: (name: string | null, kind: 'LDAP' | 'SCIM') => (kind === 'LDAP' ? 'From LDAP' : `From ${name} (SCIM)`),
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
  of: (directory: string) => `of ${directory}`,
  directory: 'Directory',
  directoryHelp: 'Each directory manages its own members. Choose one that exists to replace its token.',
  newDirectory: 'New directory with this name',
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
})
