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

const enableDrive = {
  text: 'Choose or make a project, and enable the Drive API in it.',
  link: {
    title: 'Google Drive API',
    url: 'https://console.cloud.google.com/apis/library/drive.googleapis.com',
  },
}

/** Everything is sent to Google's own hosts; secret and consent belong to the client id. */
export const configSchema: ConfigSchema = {
  type: 'object',
  properties: {
    clientId: text('OAuth client id', 'Ends with .apps.googleusercontent.com.'),
    clientSecret: {
      ...text('OAuth client secret', 'The secret of this client.'),
      writeOnly: true,
      keepsSecrets: true,
    },
    serviceAccountKey: {
      ...text('Service account key', 'The whole JSON file.'),
      writeOnly: true,
      keepsSecrets: true,
    },
    driveId: id('Shared drive', 'The id of the shared drive, which is the last part of its address.'),
    rootFolderId: id(
      'Root folder',
      'Advanced: the id of a folder, from its address. The provider never leaves this folder.',
    ),
  },
  choices: [
    {
      title: 'Sign in with',
      options: [
        {
          title: 'Your Google account',
          description: 'You give consent in the browser. For the files of one person.',
          properties: ['clientId', 'clientSecret'],
          required: ['clientId', 'clientSecret'],
          steps: [
            enableDrive,
            {
              text: 'Set up the consent screen. In Google Workspace choose “Internal”; otherwise add yourself as a test user.',
              link: { title: 'Consent screen', url: 'https://console.cloud.google.com/auth/overview' },
            },
            {
              text: 'Create a client of the type “Web application” with this address as an authorized redirect URI:',
              link: { title: 'Clients', url: 'https://console.cloud.google.com/auth/clients/create' },
              showsRedirectAddress: true,
            },
            { text: 'Copy the id and the secret of the client into the fields below.' },
          ],
        },
        {
          title: 'A service account',
          description: 'It needs no consent and belongs to no person. For shared drives and folders.',
          properties: ['serviceAccountKey'],
          required: ['serviceAccountKey'],
          steps: [
            enableDrive,
            {
              text: 'Create a service account, and under “Keys” a key of the type JSON.',
              link: { title: 'Service accounts', url: 'https://console.cloud.google.com/iam-admin/serviceaccounts' },
            },
            { text: 'Share the drive or the folder with the email address of the service account.' },
            { text: 'Paste the whole file of the key into the field below.' },
          ],
        },
      ],
    },
    {
      title: 'Which files',
      options: [
        { title: 'My Drive', properties: [] },
        { title: 'A shared drive', properties: ['driveId'], required: ['driveId'] },
      ],
    },
  ],
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
