import { type ConfigSchema, StorageError } from '../contract.ts'

export type FtpConfig = {
  host: string
  port?: number
  security: 'explicit' | 'implicit' | 'none'
  user: string
  password: string
  folder: string
  fingerprint?: string
  connections: number
}

export const configSchema: ConfigSchema = {
  type: 'object',
  properties: {
    host: {
      type: 'string',
      title: 'Server',
      description: 'A name or an address.',
      pattern: '^[A-Za-z0-9._:-]{1,253}$',
    },
    port: {
      type: 'integer',
      title: 'Port',
      description: 'The default is 21, or 990 with implicit TLS.',
      minimum: 1,
      maximum: 65535,
    },
    security: {
      type: 'string',
      title: 'Security',
      description:
        'explicit: TLS begins after connecting (FTPS). implicit: TLS from the start. none: sends the password unencrypted.',
      enum: ['explicit', 'implicit', 'none'],
      default: 'explicit',
    },
    user: { type: 'string', title: 'User name', minLength: 1, maxLength: 256, pattern: '^[^\\r\\n]*$' },
    password: { type: 'string', title: 'Password', maxLength: 1024, pattern: '^[^\\r\\n]*$', writeOnly: true },
    folder: {
      type: 'string',
      title: 'Folder',
      description: 'Serves only the content of this folder. A relative path begins in the login folder. It must exist.',
      default: '',
      maxLength: 1024,
      pattern: '^[^\\r\\n]*$',
      keepsSecrets: true,
    },
    fingerprint: {
      type: 'string',
      title: 'Certificate fingerprint',
      description:
        'Advanced: the SHA-256 fingerprint of the certificate, for a server whose certificate no authority has signed.',
      pattern: '^([0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}$',
    },
    connections: {
      type: 'integer',
      title: 'Connections',
      description: 'Advanced: the maximum number of connections of each server process.',
      default: 8,
      minimum: 3,
      maximum: 64,
      keepsSecrets: true,
    },
  },
  required: ['host', 'security', 'user', 'password', 'folder', 'connections'],
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
    throw new StorageError('INVALID_CONFIG', 'The folder must not contain "." or "..": enter its whole path.')
  }
  return { ...config, port, storeId: `ftp:${config.user}@${config.host.toLowerCase()}:${port}` }
}
