import { type ConfigSchema, StorageError } from '../../contract.ts'

export interface GoogleDriveConfig {
  clientId?: string
  clientSecret?: string
  /** The JSON text from the Cloud console. */
  serviceAccountKey?: string
  driveId?: string
  rootFolderId?: string
}

/** Access to all of Drive. Narrower scopes hide files of other apps. */
export const scope = 'https://www.googleapis.com/auth/drive'

/** Google's addresses. Tests use others. */
export interface Endpoints {
  /** Serves `drive/v3/` and `upload/drive/v3/`. Ends with `/`. */
  api: string
  authorize: string
  token: string
}

export const googleEndpoints: Endpoints = {
  api: 'https://www.googleapis.com/',
  authorize: 'https://accounts.google.com/o/oauth2/v2/auth',
  token: 'https://oauth2.googleapis.com/token',
}

const text = (title: string, description: string) => ({ type: 'string', title, description, minLength: 1 })
const id = (title: string, description: string) => ({
  ...text(title, description),
  pattern: '^[A-Za-z0-9_-]+$',
  keepsSecrets: true,
})

/** Everything is sent to Google's own hosts; secret and consent belong to the client id. */
export const configSchema: ConfigSchema = {
  type: 'object',
  properties: {
    clientId: text(
      'OAuth client id',
      'The id of a "Web application" client in the Google Cloud console, whose project has the Drive API enabled.',
    ),
    clientSecret: {
      ...text('OAuth client secret', 'The secret of this client.'),
      writeOnly: true,
      keepsSecrets: true,
    },
    serviceAccountKey: {
      ...text(
        'Service account key',
        'The JSON key of a service account, instead of an OAuth client. It needs no consent.',
      ),
      writeOnly: true,
      keepsSecrets: true,
    },
    driveId: id('Shared drive', 'The id of a shared drive, from its address. Without it, My Drive.'),
    rootFolderId: id('Root folder', 'The id of a folder, from its address. The provider never leaves this folder.'),
  },
}

export interface ServiceAccount {
  email: string
  privateKey: string
}

/** Returns the service account of the configuration, if any. @throws INVALID_CONFIG without an OAuth client, too */
export function parseCredentials(config: GoogleDriveConfig): ServiceAccount | undefined {
  if (config.serviceAccountKey !== undefined) return parseServiceAccount(config.serviceAccountKey)
  requireClient(config)
  return undefined
}

function parseServiceAccount(key: string): ServiceAccount {
  const refuse = (problem: string) =>
    new StorageError('INVALID_CONFIG', `The service account key ${problem}: paste the whole JSON file of the key.`)
  let parsed: unknown
  try {
    parsed = JSON.parse(key)
  } catch {
    throw refuse('is not JSON')
  }
  if (typeof parsed !== 'object' || parsed === null) throw refuse('is not a JSON object')
  const { client_email: email, private_key: privateKey } = parsed as Record<string, unknown>
  if (typeof email !== 'string' || typeof privateKey !== 'string') throw refuse('lacks client_email or private_key')
  return { email, privateKey }
}

/** @throws INVALID_CONFIG */
export function requireClient({ clientId, clientSecret }: GoogleDriveConfig): {
  clientId: string
  clientSecret: string
} {
  if (clientId !== undefined && clientSecret !== undefined) return { clientId, clientSecret }
  const message = 'Google Drive needs an OAuth client id with its secret, or a service account key.'
  throw new StorageError('INVALID_CONFIG', message)
}
