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
        'Whose accounts may give consent: common (all), consumers (personal), organizations, or the id or domain of one.',
      ),
      pattern: '^[A-Za-z0-9][A-Za-z0-9.-]*$',
      default: 'common',
    },
    clientId: text('Application id', 'The client id of an app registration in Microsoft Entra.'),
    clientSecret: {
      ...text('Client secret', 'A secret of this app. Without it, the app must be a public client.'),
      writeOnly: true,
      keepsSecrets: true,
    },
    driveId: {
      ...text(
        'Drive',
        'The id of a drive or document library. Without it, the OneDrive of the person who gives consent.',
      ),
      pattern: '^[A-Za-z0-9!_-]+$',
      keepsSecrets: true,
    },
    siteUrl: {
      ...text('SharePoint site', 'The address of a site, whose default library is used instead of a drive.'),
      pattern: '^https://[A-Za-z0-9.-]+(?:/[^?#]*)?$',
      keepsSecrets: true,
    },
    rootFolder: {
      ...text('Root folder', 'The path of a folder, such as /Projects/2026. The provider never leaves this folder.'),
      pattern: '^(?:/[^/]+)+$',
      keepsSecrets: true,
    },
  },
  required: ['clientId'],
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
