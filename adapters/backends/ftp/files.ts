import { PassThrough, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, type FileInfo, parseList } from 'basic-ftp'
import { isNetworkError, unreachable } from '../../bases/errors.ts'
import { ifRefused, isRefusal } from '../../bases/plain/errors.ts'
import type { Facts, PlainFiles } from '../../bases/plain/files.ts'
import { type Call, type Pool, StorageError, type StorageErrorCode, type StoragePath } from '../../contract.ts'
import type { FtpSettings } from './config.ts'

/** The capabilities of the server. */
export interface Features {
  /** The folder of the provider: an absolute path without a `/` at its end. */
  base: string
  /** MLST and MLSD (RFC 3659). Without them, listings have no times. */
  hasFacts: boolean
  /** MFMT: the server sets times. */
  setsTimes: boolean
  /** REST STREAM: transfers can begin in the middle. */
  restarts: boolean
}

/** Bytes that are read to the end of a file that nobody needs, because ending a transfer closes its connection. */
const shortRest = 256 * 1024
/**
 * Milliseconds before the end of an empty file, in the first and the second attempt. Servers fail if a data connection ends
 * before they have completed the handshake of TLS, and do not say when they have.
 */
const [shortEmptyWait, longEmptyWait] = [10, 500]

export function ftpFiles(settings: FtpSettings, features: Features, pool: Pool<Client>): PlainFiles {
  const transfers = settings.connections - 1
  const at = (path: StoragePath) => (path === '' ? features.base || '/' : `${features.base}/${path}`)
  const command = (call: Call, text: string) => pool.use(call, async client => void (await client.send(text)))

  /** Closes the connection of a refused transfer, because servers do not accept its session of TLS again. */
  const transfer = <T>(call: Call, work: (client: Client) => Promise<T>) =>
    pool.use(call, client =>
      work(client).catch(error => {
        if (client.ftp.hasTLS) client.close()
        throw error
      }),
    )

  const send: NonNullable<PlainFiles['append']> = async (path, body, { signal, offset, modifiedAt }) => {
    const time = modifiedAt?.toISOString().replace(/\D/g, '').slice(0, 14)
    const chunks = body.iterator()
    const first = await chunks.next()
    async function* content(emptyWait: number) {
      if (first.done) await sleep(emptyWait)
      else yield first.value
      yield* chunks
    }
    const attempt = (emptyWait: number) =>
      transfer({ signal }, async client => {
        await upload(client, Readable.from(content(emptyWait), { objectMode: false }), at(path), offset)
        if (time !== undefined) await client.send(`MFMT ${time} ${at(path)}`)
      })
    if (!first.done || settings.security === 'none') await attempt(0)
    else await attempt(shortEmptyWait).catch(() => attempt(longEmptyWait))
  }

  return {
    traits: {
      ...(features.setsTimes && { keepsModifiedAt: true }),
      // A name is a part of a command. A server may run on Windows, where "\" separates folders, and none says so reliably.
      forbiddenInNames: '\r\n\\',
      maxReads: Math.ceil(transfers / 2),
      maxWrites: Math.floor(transfers / 2),
    },
    idOf: path => `${settings.storeId}${at(path)}`,

    find: (path, call) => pool.use(call, client => factsOf(client, at(path))).catch(ifRefused(null)),

    list: (path, call) =>
      transfer(call, async client => {
        client.availableListCommands = features.hasFacts ? ['MLSD'] : ['LIST -a', 'LIST']
        // LIST takes wildcards, so its command must not contain a path. Its times depend on the time zone of the server.
        if (!features.hasFacts) await client.cd(at(path))
        const found = await client.list(features.hasFacts ? at(path) : '')
        return found
          .filter(each => each.isFile || each.isDirectory)
          .map(each => ({ ...toFacts(each), name: each.name }))
      }),

    async *receive(path, { signal, start, facts }) {
      if (start > 0 && !features.restarts) {
        throw new StorageError('UNAVAILABLE', 'This server sends only whole files: download the whole file.')
      }
      const pipe = new PassThrough()
      const stop = new AbortController()
      const call = { signal: AbortSignal.any([signal, stop.signal]) }
      const done = transfer(call, client => client.downloadTo(pipe, at(path), start))
      done.catch(() => pipe.end())
      let rest = (facts.size ?? Number.POSITIVE_INFINITY) - start
      try {
        for await (const chunk of pipe.iterator({ destroyOnReturn: false })) {
          rest -= chunk.length
          yield chunk
        }
        await done
      } catch {
        // An error of the pipe is only a consequence.
        await done
      } finally {
        if (rest > shortRest) stop.abort()
        else pipe.resume()
      }
    },

    store: (path, body, options) => send(path, body, { ...options, offset: 0 }),

    ...(settings.continuesUploads && features.restarts && { append: send }),
    rename: (from, to, call) => pool.use(call, async client => void (await client.rename(at(from), at(to)))),
    makeFolder: (path, call) => command(call, `MKD ${at(path)}`),
    removeFile: (path, call) => command(call, `DELE ${at(path)}`),
    removeFolder: (path, call) => command(call, `RMD ${at(path)}`),
    close: () => pool.close(),
  }

  async function factsOf(client: Client, path: string): Promise<Facts | null> {
    if (features.hasFacts) {
      const { message } = await client.send(`MLST ${path}`)
      const [, facts = ''] = /\n *(\S+;) /.exec(message) ?? []
      // The library leaves the folder itself ("cdir") out of listings.
      const [found] = parseList(`${facts.replace(/type=[cp]dir;/i, 'type=dir;')} name`)
      return found?.isFile || found?.isDirectory ? toFacts(found) : null
    }
    try {
      const size = await client.size(path)
      return { kind: 'file', size, modifiedAt: await client.lastMod(path) }
    } catch (error) {
      if (!isRefusal(toStorageError(error, settings))) throw error
      await client.cd(path)
      return { kind: 'directory', size: null, modifiedAt: null }
    }
  }
}

/** Writes a file from `offset` on. REST must come directly before STOR (https://www.rfc-editor.org/rfc/rfc3659#section-5). */
async function upload(client: Client, content: Readable, path: string, offset: number): Promise<void> {
  const { prepareTransfer } = client
  client.prepareTransfer = async ftp => {
    client.prepareTransfer = prepareTransfer
    const opened = await prepareTransfer(ftp)
    if (offset > 0) await ftp.request(`REST ${offset}`)
    return opened
  }
  await client.uploadFrom(content, path)
}

function toFacts({ isDirectory, size, modifiedAt }: FileInfo): Facts {
  return { kind: isDirectory ? 'directory' : 'file', size, modifiedAt: modifiedAt ?? null }
}

type Meaning = [StorageErrorCode, string]
const login: Meaning = ['UNAUTHORIZED', 'The server refuses the user name or the password: correct them.']
const security: Meaning = [
  'UNAVAILABLE',
  'The server requires another kind of encryption: change the security of this storage.',
]
const full: Meaning = ['QUOTA_EXCEEDED', 'The server is full: free some space, or raise the quota.']

/** https://www.rfc-editor.org/rfc/rfc959#section-4.2, RFC 2228 and RFC 4217. 550 has many reasons. */
const meanings: Record<number, Meaning> = {
  421: ['UNAVAILABLE', 'The server allows no more connections now: try again later, or use fewer connections.'],
  425: ['UNAVAILABLE', 'The server could not open a connection for the content: try again later.'],
  426: ['UNAVAILABLE', 'The server cut the connection for the content: try again.'],
  430: login,
  450: ['IN_USE', 'The file is in use at the server: close it there, or try again later.'],
  451: ['UNAVAILABLE', 'The server had an error of its own: try again later.'],
  452: full,
  501: ['INVALID_PATH', 'The server cannot store such a name: choose another one.'],
  522: security,
  530: login,
  534: security,
  550: ['PERMISSION_DENIED', 'The server does not allow this at this path: check the permissions of the user.'],
  552: full,
  553: ['INVALID_PATH', 'The server cannot store such a name, or does not allow it: choose another one.'],
}

/** Converts errors of the server and the network. Returns others unchanged: an abort, or a bug. */
export function toStorageError(error: unknown, server: { host: string; port: number }): unknown {
  if (!(error instanceof Error) || error.name === 'StorageError' || error.name === 'AbortError') return error
  const { code, message } = error as Error & { code?: unknown }
  if (typeof code === 'number') {
    const isName = code >= 550 && /too long|invalid|illegal|not allowed in/i.test(message)
    const unknown: Meaning = ['UNAVAILABLE', `The server refuses a command (FTP ${code}): see the log.`]
    return new StorageError(...(meanings[isName ? 553 : code] ?? unknown), { cause: error })
  }
  // The library reports a lost connection without a code.
  const isLost = isNetworkError(error) || /closed|FIN packet|Timeout|data connection/.test(message)
  return isLost ? unreachable(error, server) : error
}
