import type { schema } from '../../../client/src/index.ts'
import { command } from '../command.ts'
import { usageError } from '../errors.ts'
import { parseExpiry } from '../expiry.ts'
import { parseRemote } from '../operand.ts'
import type { Output } from '../output.ts'
import { type ListedShare, shareFields, shareSelection } from '../shares.ts'
import { readSecret } from '../terminal/prompt.ts'

const document = `mutation Share($input: CreateShareInput!) {
  createShare(input: $input) { url share { ${shareSelection} } }
}`

export const shareCreate = command({
  name: 'share create',
  operands: '<path>...',
  help: 'Share files and folders of one storage by a link, and print the link. Whoever has the link can use it.',
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
    const maxDownloads = parseNumber(options['max-downloads'], 'max-downloads')
    const maxBytes = parseNumber(options['max-bytes'], 'max-bytes')
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
    const { createShare } = await server.graphql<{ createShare: { url: string; share: ListedShare } }>(document, {
      input,
    })
    await output.result(createShare.share, createShare.url)
  },
})

async function readPassword(output: Output, signal: AbortSignal): Promise<string> {
  const text = await readSecret(output, 'Password of the link: ', signal)
  // The end of the line is not part of a password that a pipe sends.
  return text.replace(/\r?\n$/, '')
}

function parseNumber(text: string | undefined, name: string): number | null {
  if (text === undefined) return null
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(number) && number > 0) return number
  throw usageError(`--${name} must be a whole number from 1, not "${text}".`)
}
