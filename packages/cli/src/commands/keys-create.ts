import type { schema } from '../../../client/src/index.ts'
import { command } from '../command.ts'
import { parseExpiry } from '../expiry.ts'
import { keyFields, keySelection, type ListedKey } from '../keys.ts'
import { parseRemote } from '../operand.ts'

const document = `mutation Create($input: CreateApiKeyInput!) {
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
    expires: { value: 'time', help: 'When the key expires, such as 12h, 30d, 4w or 2027-01-31. The default is never.' },
  },
  json: { key: ['key', ...keyFields] },
  async run({ output, connect }, { operands: [name = ''], options }) {
    const folders = options.at.map(parseRemote)
    const expiresAt = options.expires === undefined ? null : parseExpiry(options.expires, new Date()).toISOString()
    const server = await connect()
    const paths = await Promise.all(folders.map(folder => server.locate(folder)))
    const restrictions = paths.map(({ providerId, path }) => ({ providerId, basePath: path }))
    const input: schema.CreateApiKeyInput = {
      name,
      scopes: [options.scope ?? 'read'],
      expiresAt,
      ...(restrictions.length > 0 && { providerAccess: { restrictions } }),
    }
    const { createApiKey } = await server.graphql<{ createApiKey: { key: string; apiKey: ListedKey } }>(document, {
      input,
    })
    const { key, apiKey } = createApiKey
    output.note(`The key ${apiKey.name} has the ID ${apiKey.id}. Store its value now, it is not shown again:`)
    await output.result({ key, ...apiKey }, key)
  },
})
