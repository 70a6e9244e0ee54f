/** The commands for share links. */
import type { Connection, schema } from '../../../client/src/index.ts'
import { attempt, command } from '../command.ts'
import { usageError } from '../errors.ts'
import { parseRemote } from '../operand.ts'
import { parseExpiry, parseNumber } from '../options.ts'
import type { Output } from '../output.ts'
import { readSecret } from '../terminal/prompt.ts'

const shareFields = [
  'id',
  'kind',
  'state',
  'url',
  'providerId',
  'paths',
  'hasPassword',
  'note',
  'expiresAt',
  'maxDownloads',
  'downloads',
  'maxBytes',
  'receivedBytes',
  'fileTypes',
  'notify',
  'createdAt',
  'revokedAt',
  'lastUsedAt',
] as const

type ListedShare = Pick<schema.Share, (typeof shareFields)[number]>

const shareSelection = shareFields.join(' ')

const createMutation = `mutation Share($input: CreateShareInput!) {
  createShare(input: $input) { url share { ${shareSelection} } }
}`

export const shareCreate = command({
  name: 'share create',
  operands: '<path>...',
  help: 'Share files and folders of one storage by a link, and print the link. Everybody who has the link can use it.',
  options: {
    drop: { help: 'Let the recipients add files to the folder, without seeing what is in it.' },
    password: { help: 'Ask for a password that the link requires, or read it from the standard input.' },
    note: { value: 'text', help: 'A note for the recipients.' },
    expires: {
      value: 'time',
      help: 'When the link expires, such as 12h, 30d, 4w or 2027-01-31. The default is never.',
    },
    'max-downloads': { value: 'number', help: 'How many downloads the link permits. The default is no limit.' },
    'max-bytes': { value: 'bytes', help: 'With --drop, how much the link accepts. The default is no limit.' },
    type: {
      value: 'ending',
      isList: true,
      help: 'With --drop, an ending of names that the link accepts, such as pdf.',
    },
    email: {
      value: 'address',
      isList: true,
      help: 'Send the link to an email address, if the server sends email.',
    },
    notify: { help: 'With --drop, get emails about files that arrive, if the server sends email.' },
  },
  json: { share: shareFields },
  async run({ output, connect, signal }, { operands, options }) {
    const remotes = operands.map(parseRemote)
    const expiresAt = options.expires === undefined ? null : parseExpiry(options.expires, new Date()).toISOString()
    const maxDownloads = optionalNumber(options['max-downloads'], 'max-downloads')
    const maxBytes = optionalNumber(options['max-bytes'], 'max-bytes')
    const password = options.password ? await readPassword(output, signal) : null
    const server = await connect()
    const [first, ...others] = await Promise.all(remotes.map(remote => server.locate(remote)))
    if (!first) throw usageError('Give at least one path.')
    if (others.some(({ providerId }) => providerId !== first.providerId)) {
      throw usageError('The paths of a share are in one storage.')
    }
    const input: schema.CreateShareInput = {
      providerId: first.providerId,
      path: first.path,
      kind: options.drop ? 'DROP' : 'VIEW',
      password,
      note: options.note ?? null,
      expiresAt,
      maxDownloads,
      maxBytes,
      ...(others.length > 0 && { morePaths: others.map(({ path }) => path) }),
      ...(options.type.length > 0 && { fileTypes: [...options.type] }),
      ...(options.email.length > 0 && { recipients: [...options.email] }),
      ...(options.notify && { notify: true }),
    }
    const { createShare } = await server.graphql<{ createShare: { url: string; share: ListedShare } }>(createMutation, {
      input,
    })
    await output.result(createShare.share, createShare.url)
  },
})

function optionalNumber(text: string | undefined, name: string): number | null {
  return text === undefined ? null : parseNumber(text, name)
}

async function readPassword(output: Output, signal: AbortSignal): Promise<string> {
  const text = await readSecret(output, 'Password of the link: ', signal)
  // The end of the line is not part of a password that a pipe sends.
  return text.replace(/\r?\n$/, '')
}

const listQuery = `query Shares($after: String, $all: Boolean!) {
  shares(first: 100, after: $after, includeInactive: $all) {
    nodes { ${shareSelection} }
    pageInfo { hasNextPage endCursor }
  }
}`

export const shareList = command({
  name: 'share list',
  operands: '',
  help: 'List the share links that the key made, newest first; for an admin key without restrictions, those of everybody.',
  options: { all: { short: 'a', help: 'Include expired and revoked links.' } },
  json: { share: shareFields },
  async run({ output, connect }, { options: { all } }) {
    const server = await connect()
    const found = server.nodes(listQuery, { all }, ({ shares }: { shares: Connection<ListedShare> }) => shares)
    for await (const share of found) await output.result(share, ...shareLines(share))
  },
})

function shareLines({ id, kind, state, paths, expiresAt, url }: ListedShare): string[] {
  const [first = '', ...others] = paths
  const path = others.length > 0 ? `${first} and ${others.length} more` : first
  const line = `${id}  ${state.padEnd(7)}  ${kind.padEnd(4)}  ${(expiresAt ?? 'never expires').padEnd(24)}  ${path}`
  return url === null ? [line] : [line, `  ${url}`]
}

const revokeMutation = `mutation Revoke($id: ID!) { revokeShare(id: $id) { ${shareSelection} } }`

export const shareRevoke = command({
  name: 'share revoke',
  operands: '<id>...',
  help: 'Revoke share links at once and for good.',
  options: {},
  json: { share: shareFields },
  async run(context, { operands }) {
    const server = await context.connect()
    for (const id of operands) {
      await attempt(context, id, async () => {
        const { revokeShare } = await server.graphql<{ revokeShare: ListedShare }>(revokeMutation, { id })
        await context.output.summary(revokeShare, `${id} (${revokeShare.paths.join(', ')}) revoked`)
      })
    }
  },
})
