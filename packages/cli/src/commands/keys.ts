/** The commands for API keys. */
import { readFile } from 'node:fs/promises'
import type { Connection, schema } from '../../../client/src/index.ts'
import { attempt, command } from '../command.ts'
import { parseRemote } from '../operand.ts'
import { parseExpiry } from '../options.ts'

const keyFields = [
  'id',
  'name',
  'state',
  'scopes',
  'displayPrefix',
  'sshFingerprint',
  'createdAt',
  'expiresAt',
  'lastUsedAt',
  'revokedAt',
] as const

type ListedKey = Pick<schema.ApiKey, (typeof keyFields)[number]>

const keySelection = keyFields.join(' ')

const listQuery = `query Keys($after: String, $all: Boolean!) {
  apiKeys(first: 100, after: $after, includeInactive: $all) {
    nodes { ${keySelection} }
    pageInfo { hasNextPage endCursor }
  }
}`

export const keysList = command({
  name: 'keys list',
  operands: '',
  help: 'List your API keys, newest first. Needs an admin key without restrictions, as all commands for keys.',
  options: { all: { short: 'a', help: 'Include expired and revoked keys.' } },
  json: { key: keyFields },
  async run({ output, connect }, { options: { all } }) {
    const server = await connect()
    const keys = server.nodes(listQuery, { all }, ({ apiKeys }: { apiKeys: Connection<ListedKey> }) => apiKeys)
    for await (const key of keys) await output.result(key, keyText(key))
  },
})

function keyText({ id, name, state, scopes, expiresAt }: ListedKey): string {
  const highest = (['admin', 'write', 'read'] as const).find(scope => scopes.includes(scope)) ?? '-'
  return `${id}  ${state.padEnd(7)}  ${highest.padEnd(5)}  ${(expiresAt ?? 'never expires').padEnd(24)}  ${name}`
}

const createMutation = `mutation Create($input: CreateApiKeyInput!) {
  createApiKey(input: $input) { key apiKey { ${keySelection} } }
}`

export const keysCreate = command({
  name: 'keys create',
  operands: '<name>',
  help: 'Create an API key and print it. It is not shown again.',
  options: {
    scope: {
      value: 'scope',
      choices: ['read', 'write', 'admin'],
      help: 'The rights of the key. Each scope includes those before it. The default is read.',
    },
    at: {
      value: 'path',
      isList: true,
      help: 'A storage, or a folder of a storage, to which the key is restricted. The default is your own access.',
    },
    'public-key': {
      value: 'file',
      help: 'A file with a public key of SSH, such as ~/.ssh/id_ed25519.pub, that opens SFTP with the rights of the key. The user name is the email of its owner.',
    },
    expires: { value: 'time', help: 'When the key expires, such as 12h, 30d, 4w or 2027-01-31. The default is never.' },
  },
  json: { key: ['key', ...keyFields] },
  async run({ output, connect }, { operands: [name = ''], options }) {
    const folders = options.at.map(parseRemote)
    const expiresAt = options.expires === undefined ? null : parseExpiry(options.expires, new Date()).toISOString()
    const file = options['public-key']
    const publicKey = file === undefined ? undefined : await readFile(file, 'utf8')
    const server = await connect()
    const paths = await Promise.all(folders.map(folder => server.locate(folder)))
    const restrictions = paths.map(({ providerId, path }) => ({ providerId, basePath: path }))
    const input: schema.CreateApiKeyInput = {
      name,
      scopes: [options.scope ?? 'read'],
      expiresAt,
      ...(publicKey !== undefined && { publicKey }),
      ...(restrictions.length > 0 && { providerAccess: { restrictions } }),
    }
    const { createApiKey } = await server.graphql<{ createApiKey: { key: string; apiKey: ListedKey } }>(
      createMutation,
      {
        input,
      },
    )
    const { key, apiKey } = createApiKey
    output.note(`The key ${apiKey.name} has the ID ${apiKey.id}. Store its value now, it is not shown again:`)
    await output.result({ key, ...apiKey }, key)
  },
})

const revokeMutation = `mutation Revoke($id: ID!) { revokeApiKey(id: $id) { ${keySelection} } }`

export const keysRevoke = command({
  name: 'keys revoke',
  operands: '<id>...',
  help: 'Revoke API keys at once and for good.',
  options: {},
  json: { key: keyFields },
  async run(context, { operands }) {
    const server = await context.connect()
    for (const id of operands) {
      await attempt(context, id, async () => {
        const { revokeApiKey } = await server.graphql<{ revokeApiKey: ListedKey }>(revokeMutation, { id })
        await context.output.summary(revokeApiKey, `${id} (${revokeApiKey.name}) revoked`)
      })
    }
  },
})
