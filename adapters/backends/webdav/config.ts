import * as shared from '../../bases/plain/connect.ts'
import { type ConfigSchema, StorageError } from '../../contract.ts'

export type WebdavConfig = {
  url: string
  user?: string
  password?: string
  token?: string
}

export const configSchema: ConfigSchema = {
  type: 'object',
  properties: {
    url: {
      type: 'string',
      title: 'Address',
      description: 'The folder, such as https://cloud.example.com/remote.php/dav/files/me/Documents',
      pattern: '^https?://',
      maxLength: 2048,
    },
    user: { ...shared.userProperty, pattern: '^[^:\\r\\n]*$' },
    password: {
      ...shared.passwordProperty,
      description: 'An app password where the server has them.',
    },
    token: {
      type: 'string',
      title: 'Token',
      description: 'A bearer token.',
      maxLength: 8192,
      pattern: '^[A-Za-z0-9._~+/=-]*$',
      writeOnly: true,
    },
  },
  required: ['url'],
  choices: [
    {
      title: 'Sign in with',
      options: [
        {
          title: 'A user name and a password',
          properties: ['user', 'password'],
          required: ['user', 'password'],
          steps: [
            {
              text: 'Nextcloud and ownCloud: copy the WebDAV address from “Files settings” at the bottom left of the files, and make an app password under “Security” in the settings of your account.',
            },
          ],
        },
        { title: 'A token', properties: ['token'], required: ['token'] },
        { title: 'Nothing', description: 'For a server that is open to everybody.', properties: [] },
      ],
    },
  ],
}

export interface WebdavSettings extends WebdavConfig {
  origin: URL
  /** The encoded path of the folder, which ends in `/`. */
  base: string
  /** The start of every `fileId` that is made of a path. Many services have the files of each account at one address. */
  storeId: string
}

/** @throws INVALID_CONFIG */
export function parseConfig(config: WebdavConfig): WebdavSettings {
  const url = URL.parse(config.url)
  if (url?.search !== '' || url.hash !== '') {
    throw invalid('url', 'The address must be a URL without "?" and "#".')
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('url', 'The address must not contain a user name or a password: enter them in their own fields.')
  }
  if (config.token !== undefined && config.user !== undefined) {
    throw invalid('token', 'Enter either a token or a user name and a password.')
  }
  if ((config.user === undefined) !== (config.password === undefined)) {
    throw invalid(config.user === undefined ? 'user' : 'password', 'Enter both a user name and a password, or neither.')
  }
  return {
    ...config,
    origin: url,
    base: url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`,
    storeId: `webdav:${url.protocol}//${accountIn(config)}${url.host}`,
  }
}

/**
 * A token does not name its account, and one account often has several, so providers with tokens count as one account. If they are
 * not, a move to the same path is refused, which loses nothing.
 */
function accountIn({ user }: WebdavConfig): string {
  return user === undefined ? '' : `${encodeURIComponent(user.toWellFormed())}@`
}

function invalid(name: string, message: string): StorageError {
  return new StorageError('INVALID_CONFIG', message, { property: { name } })
}
