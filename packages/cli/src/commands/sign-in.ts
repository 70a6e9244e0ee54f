/** The commands that store, delete and show the API key. */
import { hostname } from 'node:os'
import { Stowage, type schema, signIn } from '../../../client/src/index.ts'
import { command } from '../command.ts'
import {
  credentialsFile,
  forgetCredentials,
  isUnencrypted,
  parseKey,
  parseServerUrl,
  readCredentials,
  storeCredentials,
} from '../credentials.ts'
import { usageError } from '../errors.ts'
import type { Output } from '../output.ts'
import { Server } from '../server.ts'
import { askOnTerminal, readSecret } from '../terminal/prompt.ts'

const viewerFields = [
  'url',
  'email',
  'role',
  'workspace',
  'credential',
  'key',
  'scopes',
  'expiresAt',
  'restrictions',
] as const

const viewerQuery = `{ viewer {
  kind expiresAt scopes
  user { email name isServiceAccount role: effectiveRole }
  workspace { name }
  apiKey { id name }
  providerAccess { all restrictions { basePath provider { id name } } }
} }`

interface ViewerResult {
  kind: schema.CredentialKind
  expiresAt: string | null
  scopes: readonly schema.Scope[]
  user: Pick<schema.User, 'email' | 'name' | 'isServiceAccount' | 'role'>
  workspace: Pick<schema.Workspace, 'name'>
  apiKey: Pick<schema.ApiKey, 'id' | 'name'> | null
  providerAccess: {
    all: boolean
    restrictions: readonly { basePath: string; provider: Pick<schema.StorageProvider, 'id' | 'name'> }[]
  }
}

export const login = command({
  name: 'login',
  operands: '<url>',
  help: 'Store an API key for a server. Asks for the key, or reads it from the standard input. With --email, asks for your password and a second factor, and creates a key.',
  options: {
    email: { value: 'address', help: 'Sign in with this address or name, and create an API key for this machine.' },
    scope: {
      value: 'scope',
      choices: ['read', 'write', 'admin'],
      help: 'The rights of the created key. Each scope includes those before it. The default is write.',
    },
  },
  json: { viewer: viewerFields },
  async run({ environment, signal, output }, { operands: [address = ''], options: { email, scope } }) {
    const url = parseServerUrl(address)
    if (isUnencrypted(url)) output.warn('This address is not encrypted: others in the network can read the API key.')
    if (scope !== undefined && email === undefined)
      throw usageError('An existing key keeps its rights: give --scope only with --email.')
    const text =
      email === undefined
        ? await readSecret(output, `API key for ${url}: `, signal)
        : await createKey({ url, email, scope: scope ?? 'write' }, output, signal)
    const credentials = { url, key: parseKey(text) }
    const viewer = await findViewer(new Server(credentials, signal))
    await storeCredentials(environment, credentials)
    const stored = `Signed in to ${url} as ${whoIs(viewer)}. The key is in ${credentialsFile(environment)}.`
    await output.summary(viewerRecord(url, viewer), stored)
    if (environment.STOWAGE_API_KEY) output.warn('STOWAGE_API_KEY is set and overrides the stored key.')
  },
})

export const logout = command({
  name: 'logout',
  operands: '',
  help: 'Delete the stored API key from this machine. The key stays valid: revoke it with "keys revoke" or in the console.',
  options: {},
  json: { server: ['url'] },
  async run({ environment, output }) {
    // A damaged or unsafe file is deleted, too.
    const stored = await readCredentials(environment).catch(() => null)
    await forgetCredentials(environment)
    const url = stored?.url ?? null
    await output.summary({ url }, url === null ? 'No API key was stored.' : `The API key for ${url} is deleted.`)
  },
})

export const whoami = command({
  name: 'whoami',
  operands: '',
  help: 'Print the server, the person and the rights of the API key.',
  options: {},
  json: { viewer: viewerFields },
  async run({ output, connect }) {
    const server = await connect()
    const viewer = await findViewer(server)
    await output.result(viewerRecord(server.url, viewer), ...viewerLines(server.url, viewer))
  },
})

const createMutation = 'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key } }'

/** Signs in on the terminal, and creates a key. The session ends at once. */
async function createKey(
  { url, email, scope }: { url: string; email: string; scope: schema.Scope },
  output: Output,
  signal: AbortSignal,
): Promise<string> {
  const password = await askOnTerminal(output, `Password of ${email} for ${url}: `)
  const { token } = await signIn({
    url,
    email,
    password,
    signal,
    async askForCode({ methods, isRepeated }) {
      if (!methods.some(method => method !== 'PASSKEY')) {
        throw usageError('This account has only passkeys, which need a browser: create an API key in the console.')
      }
      if (isRepeated) output.warn('The code is wrong.')
      const answer = (await askOnTerminal(output, 'Code of the authenticator app, or a recovery code: ')).trim()
      return /^\d{6}$/.test(answer) ? { code: answer } : { recoveryCode: answer }
    },
  })
  const session = new Stowage({ url, credential: token })
  try {
    const input = { name: `stowage on ${hostname()}`.slice(0, 100), scopes: [scope] }
    const created = await session.graphql<{ createApiKey: { key: string } }, object>(
      createMutation,
      { input },
      { signal },
    )
    return created.createApiKey.key
  } finally {
    await session.graphql('mutation { logout }').catch(() => {})
  }
}

/** @throws StowageError if the credential is not valid */
async function findViewer(server: Server): Promise<ViewerResult> {
  const { viewer } = await server.graphql<{ viewer: ViewerResult }>(viewerQuery)
  return viewer
}

/** `restrictions` is null if the credential can use every storage. */
function viewerRecord(url: string, viewer: ViewerResult): Record<(typeof viewerFields)[number], unknown> {
  const { user, workspace, kind, apiKey, scopes, expiresAt, providerAccess } = viewer
  const restrictions = providerAccess.restrictions.map(({ basePath, provider }) => {
    return { storageId: provider.id, storage: provider.name, path: basePath }
  })
  return {
    url,
    email: user.email,
    role: user.role,
    workspace: workspace.name,
    credential: kind,
    key: apiKey,
    scopes,
    expiresAt,
    restrictions: providerAccess.all ? null : restrictions,
  }
}

/** A service account has an address that gets no mail, and says nothing. */
function whoIs({ user: { email, name, isServiceAccount } }: ViewerResult): string {
  return isServiceAccount ? `the service account ${name}` : email
}

function viewerLines(url: string, viewer: ViewerResult): string[] {
  const { user, workspace, apiKey, scopes, expiresAt, providerAccess } = viewer
  const { all, restrictions } = providerAccess
  const storages = all ? 'all' : restrictions.map(({ basePath, provider }) => `${provider.name}:${basePath}`).join(', ')
  return [
    `server:    ${url}`,
    `person:    ${whoIs(viewer)} (${user.role})`,
    `workspace: ${workspace.name}`,
    `key:       ${apiKey ? `${apiKey.name} (${apiKey.id})` : 'none, this is a session'}`,
    `scopes:    ${scopes.join(', ')}`,
    `storages:  ${storages}`,
    `expires:   ${expiresAt ?? 'never'}`,
  ]
}
