import * as shared from '../../bases/plain/connect.ts'
import { type ConfigSchema, StorageError } from '../../contract.ts'

export type FtpConfig = {
  host: string
  port?: number
  security: 'explicit' | 'implicit' | 'none'
  user: string
  password: string
  folder: string
  fingerprint?: string
  connections: number
  continuesUploads: boolean
}

export const configSchema: ConfigSchema = {
  type: 'object',
  properties: {
    host: shared.hostProperty,
    port: { ...shared.portProperty, description: 'The default is 21, or 990 with implicit TLS.' },
    security: {
      type: 'string',
      title: 'Security',
      description:
        'explicit: TLS begins after connecting (FTPS). implicit: TLS from the start. none: sends the password unencrypted.',
      enum: ['explicit', 'implicit', 'none'],
      default: 'explicit',
    },
    user: shared.userProperty,
    password: shared.passwordProperty,
    folder: shared.folderProperty,
    fingerprint: {
      type: 'string',
      title: 'Certificate fingerprint',
      description:
        'Advanced: the SHA-256 fingerprint of the certificate, for a server whose certificate no authority has signed.',
      pattern: '^([0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}$',
    },
    connections: { ...shared.connectionsProperty, default: 8, minimum: 3, maximum: 64 },
    continuesUploads: {
      type: 'boolean',
      title: 'Continue unfinished uploads at the server',
      description:
        'Advanced: the server must allow REST before STOR. Otherwise Stowage keeps unfinished uploads itself.',
      default: false,
      keepsSecrets: true,
    },
  },
  required: ['host', 'security', 'user', 'password', 'folder', 'connections', 'continuesUploads'],
  choices: [
    {
      title: 'Security',
      options: [
        {
          title: 'TLS after connecting',
          description: 'Explicit FTPS.',
          properties: [],
          values: { security: 'explicit' },
        },
        {
          title: 'TLS from the start',
          description: 'Implicit FTPS.',
          properties: [],
          values: { security: 'implicit' },
        },
        { title: 'None', description: 'Sends the password unencrypted.', properties: [], values: { security: 'none' } },
      ],
    },
  ],
}

export type FtpSettings = FtpConfig & {
  port: number
  /** The start of every `fileId`. */
  storeId: string
}

/** @throws INVALID_CONFIG */
export function parseConfig(config: FtpConfig): FtpSettings {
  const port = config.port ?? (config.security === 'implicit' ? 990 : 21)
  if (config.folder.split('/').some(name => name === '.' || name === '..')) {
    const message = 'The folder must not contain "." or "..": enter its whole path.'
    throw new StorageError('INVALID_CONFIG', message, { property: { name: 'folder' } })
  }
  return { ...config, port, storeId: `ftp:${config.user}@${config.host.toLowerCase()}:${port}` }
}
