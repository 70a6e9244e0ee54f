import { PassThrough, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, type FileInfo, parseList } from 'basic-ftp'
import { type Call, type Pool, StorageError, type StoragePath } from '../contract.ts'
import { isRefusal } from '../plain/errors.ts'
import type { Facts, PlainFiles } from '../plain/files.ts'
import type { FtpSettings } from './config.ts'
import { toStorageError } from './errors.ts'

/** The abilities of the server. */
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
 * Milliseconds before the end of an empty file, for each attempt. Servers fail if a data connection ends before they have
 * completed the handshake of TLS, and do not say when they have.
 */
const emptyWaits = [10, 500]

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
    let rest = body
    for (const [attempt, wait] of emptyWaits.entries()) {
      let isEmpty = false
      try {
        await transfer({ signal }, async client => {
          const { prepareTransfer } = client
          async function* content() {
            let bytes = 0
            for await (const chunk of rest) {
              bytes += chunk.length
              yield chunk
            }
            isEmpty = bytes === 0 && client.ftp.hasTLS
            if (isEmpty) await sleep(wait)
          }
          client.prepareTransfer = async ftp => {
            const opened = await prepareTransfer(ftp)
            if (offset > 0) await ftp.request(`REST ${offset}`)
            return opened
          }
          try {
            await client.uploadFrom(Readable.from(content(), { objectMode: false }), at(path))
          } finally {
            client.prepareTransfer = prepareTransfer
          }
          if (time !== undefined) await client.send(`MFMT ${time} ${at(path)}`)
        })
        return
      } catch (error) {
        if (!isEmpty || attempt + 1 === emptyWaits.length) throw error
        rest = Readable.from([])
      }
    }
  }

  return {
    traits: {
      ...(features.setsTimes && { keepsModifiedAt: true }),
      singleLineNames: true,
      maxReads: Math.ceil(transfers / 2),
      maxWrites: Math.floor(transfers / 2),
    },
    idOf: path => `${settings.storeId}${at(path)}`,

    find: (path, call) =>
      pool
        .use(call, client => factsOf(client, at(path)))
        .catch(error => {
          if (isRefusal(error)) return null
          throw error
        }),

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
      const lease = await pool.take({ signal })
      const discard = () => lease.discard()
      signal.addEventListener('abort', discard, { once: true })
      const pipe = new PassThrough()
      const done = lease.connection.downloadTo(pipe, at(path), start).then(() => lease.release())
      done.catch(discard)
      let rest = (facts.size ?? Number.POSITIVE_INFINITY) - start
      try {
        for await (const chunk of pipe.iterator({ destroyOnReturn: false })) {
          rest -= chunk.length
          yield chunk
        }
        await done
      } catch (error) {
        throw toStorageError(error, settings)
      } finally {
        signal.removeEventListener('abort', discard)
        if (rest > shortRest) discard()
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

function toFacts({ isDirectory, size, modifiedAt }: FileInfo): Facts {
  return { kind: isDirectory ? 'directory' : 'file', size, modifiedAt: modifiedAt ?? null }
}
