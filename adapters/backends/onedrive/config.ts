import { type ConfigSchema, StorageError } from '../../contract.ts'

/** A type alias, unlike an interface, fits the definition of an adapter with any configuration. */
export type OneDriveConfig = {
  tenant?: string
  clientId: string
  clientSecret?: string
  driveId?: string
  siteUrl?: string
  rootFolder?: string
}

/** Microsoft's addresses. Tests use others. */
export interface Endpoints {
  /** Microsoft Graph. Ends with `/`. */
  api: string
  /** Serves `<tenant>/oauth2/v2.0/`. Ends with `/`. */
  login: string
}

export const microsoftEndpoints: Endpoints = {
  api: 'https://graph.microsoft.com/v1.0/',
  login: 'https://login.microsoftonline.com/',
}

const text = (title: string, description: string) => ({ type: 'string', title, description, minLength: 1 })

/** Everything is sent to Microsoft's own hosts; secret and consent belong to the app and its tenant. */
export const configSchema: ConfigSchema = {
  type: 'object',
  properties: {
    tenant: {
      ...text(
        'Tenant',
        'Advanced: whose accounts may give consent: common (all), consumers (personal), organizations, or the id or domain of one.',
      ),
      pattern: '^[A-Za-z0-9][A-Za-z0-9.-]*$',
      default: 'common',
    },
    clientId: text('Application id', '“Application (client) ID” on the page of the app registration.'),
    clientSecret: {
      ...text('Client secret', 'The value of a secret of this app. Leave it out only for a public client.'),
      writeOnly: true,
      keepsSecrets: true,
    },
    driveId: {
      ...text('Drive', 'The id of the drive or document library, such as b!xyz.'),
      pattern: '^[A-Za-z0-9!_-]+$',
      keepsSecrets: true,
    },
    siteUrl: {
      ...text('SharePoint site', 'The address of the site, such as https://example.sharepoint.com/sites/team.'),
      pattern: '^https://[A-Za-z0-9.-]+(?:/[^?#]*)?$',
      keepsSecrets: true,
    },
    rootFolder: {
      ...text(
        'Root folder',
        'Advanced: the path of a folder, such as /Projects/2026. The provider never leaves this folder.',
      ),
      pattern: '^(?:/[^/]+)+$',
      keepsSecrets: true,
    },
  },
  required: ['clientId'],
  steps: [
    {
      text: 'Register an application for the accounts that will give consent.',
      link: {
        title: 'App registrations',
        url: 'https://entra.microsoft.com/#view/Microsoft_AAD_RegisteredApps/ApplicationsListBlade',
      },
    },
    { text: 'Under “Authentication”, add the platform “Web” with this redirect URI:', showsRedirectAddress: true },
    {
      text: 'Under “API permissions”, add the delegated permission Files.ReadWrite.All of Microsoft Graph, and Sites.Read.All for a SharePoint site.',
    },
    { text: 'Under “Certificates & secrets”, create a client secret, and copy its value at once.' },
  ],
  choices: [
    {
      title: 'Which files',
      options: [
        { title: 'My OneDrive', description: 'That of the person who gives consent.', properties: [] },
        {
          title: 'A SharePoint site',
          description: 'Its default document library.',
          properties: ['siteUrl'],
          required: ['siteUrl'],
        },
        {
          title: 'Another drive',
          description: 'A drive or a library with a known id.',
          properties: ['driveId'],
          required: ['driveId'],
        },
      ],
    },
  ],
}

/** Returns the permissions to ask for. `offline_access` yields a refresh token. */
export function scopesOf({ siteUrl }: OneDriveConfig): string {
  const site = siteUrl === undefined ? [] : ['Sites.Read.All']
  return ['offline_access', 'Files.ReadWrite.All', ...site].join(' ')
}

/** Returns the path of the drive in Microsoft Graph. @throws INVALID_CONFIG */
export function drivePathOf({ driveId, siteUrl }: OneDriveConfig): string {
  if (driveId !== undefined && siteUrl !== undefined) {
    throw new StorageError('INVALID_CONFIG', 'Enter a drive or a SharePoint site, not both.')
  }
  if (driveId !== undefined) return `drives/${encodeURIComponent(driveId)}`
  if (siteUrl === undefined) return 'me/drive'
  const { hostname, pathname } = new URL(siteUrl)
  const names = pathname.split('/').filter(name => name !== '')
  return names.length === 0 ? `sites/${hostname}/drive` : `sites/${hostname}:/${names.join('/')}:/drive`
}
