import * as shared from '../../bases/plain/connect.ts'
import { type ConfigSchema, StorageError } from '../../contract.ts'

export type SftpConfig = {
  host: string
  port: number
  user: string
  password?: string
  privateKey?: string
  passphrase?: string
  hostKey?: string
  folder: string
  connections: number
}

export const configSchema: ConfigSchema = {
  type: 'object',
  properties: {
    host: shared.hostProperty,
    port: { ...shared.portProperty, default: 22 },
    user: shared.userProperty,
    password: shared.passwordProperty,
    privateKey: {
      type: 'string',
      title: 'Private key',
      description: 'The whole file, such as id_ed25519.',
      maxLength: 32768,
      writeOnly: true,
    },
    passphrase: {
      type: 'string',
      title: 'Passphrase',
      description: 'The passphrase of the private key, if it has one.',
      maxLength: 1024,
      writeOnly: true,
    },
    hostKey: {
      type: 'string',
      title: 'Host key',
      description:
        "The fingerprint of the server's key, such as SHA256:... Leave it out to see it; then compare it with the one that the server's administrator names, and accept it.",
      pattern: '^SHA256:[A-Za-z0-9+/]{43}=?( SHA256:[A-Za-z0-9+/]{43}=?){0,4}$',
    },
    folder: shared.folderProperty,
    connections: { ...shared.connectionsProperty, default: 4, minimum: 1, maximum: 32 },
  },
  required: ['host', 'port', 'user', 'folder', 'connections'],
  choices: [
    {
      title: 'Sign in with',
      options: [
        { title: 'A password', properties: ['password'], required: ['password'] },
        {
          title: 'A private key',
          properties: ['privateKey', 'passphrase'],
          required: ['privateKey'],
          steps: [
            { text: 'Make a key for Stowage alone: ssh-keygen -t ed25519 -f stowage' },
            { text: 'Append the file stowage.pub to ~/.ssh/authorized_keys of the user on the server.' },
            { text: 'Paste the whole file stowage into the field “Private key”.' },
          ],
        },
      ],
    },
  ],
}

export interface SftpSettings extends Omit<SftpConfig, 'hostKey'> {
  /** The fingerprints of the accepted host keys. */
  hostKeys: readonly string[]
  /** The start of every `fileId`. */
  storeId: string
}

/** @throws INVALID_CONFIG */
export function parseConfig({ hostKey, ...config }: SftpConfig): SftpSettings {
  if (config.password === undefined && config.privateKey === undefined) {
    const property = { name: 'password' }
    throw new StorageError('INVALID_CONFIG', 'Enter a password or a private key.', { property })
  }
  const hostKeys = (hostKey ?? '').split(' ').filter(key => key !== '')
  return {
    ...config,
    hostKeys: hostKeys.map(key => key.replace(/=$/, '')),
    storeId: `sftp:${config.user}@${config.host.toLowerCase()}:${config.port}`,
  }
}
