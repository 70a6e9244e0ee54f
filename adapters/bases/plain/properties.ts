/** Properties of configurations for servers. Add a `default` where the type has one. */
const singleLine = '^[^\\r\\n]*$'

export const hostProperty = {
  type: 'string',
  title: 'Server',
  description: 'A name or an address.',
  pattern: '^[A-Za-z0-9._:-]{1,253}$',
}

export const portProperty = { type: 'integer', title: 'Port', minimum: 1, maximum: 65535 }

export const userProperty = { type: 'string', title: 'User name', minLength: 1, maxLength: 256, pattern: singleLine }

export const passwordProperty = {
  type: 'string',
  title: 'Password',
  maxLength: 1024,
  pattern: singleLine,
  writeOnly: true,
}

export const folderProperty = {
  type: 'string',
  title: 'Folder',
  description: 'Serves only the content of this folder. A relative path begins in the login folder. It must exist.',
  default: '',
  maxLength: 1024,
  pattern: singleLine,
  keepsSecrets: true,
}

export const connectionsProperty = {
  type: 'integer',
  title: 'Connections',
  description: 'Advanced: the maximum number of connections of each server process.',
  keepsSecrets: true,
}
