import type { ConfigSchema } from '../../contract.ts'

/** A type alias, unlike an interface, fits the definition of an adapter with any configuration. */
export type DropboxConfig = {
  clientId: string
  clientSecret?: string
  space?: 'personal' | 'team'
  rootFolder?: string
}

/** The permissions that the app needs (www.dropbox.com/developers/reference/oauth-guide). */
export const scopes = ['account_info.read', 'files.metadata.read', 'files.content.read', 'files.content.write']

/** Dropbox's addresses. Tests use others. */
export interface Endpoints {
  /** Serves `2/files/` and `2/users/`. Ends with `/`. */
  api: string
  /** Serves the requests with content. Ends with `/`. */
  content: string
  authorize: string
  token: string
}

export const dropboxEndpoints: Endpoints = {
  api: 'https://api.dropboxapi.com/',
  content: 'https://content.dropboxapi.com/',
  authorize: 'https://www.dropbox.com/oauth2/authorize',
  token: 'https://api.dropboxapi.com/oauth2/token',
}

const text = (title: string, description: string) => ({ type: 'string', title, description, minLength: 1 })

/** Everything is sent to Dropbox's own hosts; secret and consent belong to the app. */
export const configSchema: ConfigSchema = {
  type: 'object',
  properties: {
    clientId: text('App key', '“App key” on the page of the app.'),
    clientSecret: {
      ...text('App secret', '“App secret” on the same page. Without it, the consent is protected by PKCE alone.'),
      writeOnly: true,
      keepsSecrets: true,
    },
    space: {
      type: 'string',
      title: 'Space',
      description: 'The folder of the person who gives consent, or the space of their team with its team folders.',
      enum: ['personal', 'team'],
      default: 'personal',
      keepsSecrets: true,
    },
    rootFolder: {
      ...text(
        'Root folder',
        'Advanced: the path of a folder, such as /Team folder/Projects. The provider never leaves this folder.',
      ),
      pattern: '^(?:/[^/]+)+$',
      keepsSecrets: true,
    },
  },
  required: ['clientId'],
  steps: [
    {
      text: 'Create an app with scoped access to the full Dropbox.',
      link: { title: 'Dropbox App Console', url: 'https://www.dropbox.com/developers/apps/create' },
    },
    {
      text: 'Under “Permissions”, choose account_info.read, files.metadata.read, files.content.read and files.content.write, and submit.',
    },
    { text: 'Under “Settings”, add this redirect URI:', showsRedirectAddress: true },
    { text: 'Copy the key and the secret of the app into the fields below.' },
  ],
  choices: [
    {
      title: 'Which files',
      options: [
        {
          title: 'A personal folder',
          description: 'That of the person who gives consent.',
          properties: [],
          values: { space: 'personal' },
        },
        {
          title: 'The space of a team',
          description: 'With its team folders.',
          properties: [],
          values: { space: 'team' },
        },
      ],
    },
  ],
}
