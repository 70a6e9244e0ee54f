import { PassThrough, pipeline, Readable, Transform } from 'node:stream'
import { type Client, type FileInfo, parseList } from 'basic-ftp'
import { type Call, type Pool, StorageError, type StoragePath, type Traits } from '../contract.ts'
import { isRefusal } from '../plain/errors.ts'
import type { Facts, PlainFiles } from '../plain/files.ts'
import type { FtpSettings } from './config.ts'
import { wearOut } from './connect.ts'
import { isLost, toStorageError } from './errors.ts'

/** What the server can do. */
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

/**
 * Milliseconds between the handshake of TLS and the end of an empty file, for each attempt. Servers fail if a data connection
 * ends before they have completed the handshake, and do not say when they have.
 */
const emptyDelays = [20, 100, 500]

export class FtpFiles implements PlainFiles {
  readonly traits: PlainFiles['traits']
  readonly #settings: FtpSettings
  readonly #features: Features
  readonly #pool: Pool<Client>

  constructor(settings: FtpSettings, features: Features, pool: Pool<Client>) {
    this.#settings = settings
    this.#features = features
    this.#pool = pool
    const transfers = settings.connections - 1
    const traits: Partial<Traits> = features.setsTimes ? { keepsModifiedAt: true } : {}
    if (!features.hasFacts) traits.listedTimePrecision = Number.POSITIVE_INFINITY
    this.traits = {
      ...traits,
      singleLineNames: true,
      maxReads: Math.ceil(transfers / 2),
      maxWrites: Math.floor(transfers / 2),
    }
  }

  idOf(path: StoragePath): string {
    return `${this.#settings.storeId}${this.#at(path)}`
  }

  async find(path: StoragePath, call: Call): Promise<Facts | null> {
    return await this.#use(call, client => this.#facts(client, this.#at(path))).catch(error => {
      if (isRefusal(error)) return null
      throw error
    })
  }

  async list(path: StoragePath, call: Call): Promise<(Facts & { name: string })[]> {
    return await this.#use(call, async client => {
      try {
        const found = await this.#listed(client, this.#at(path))
        return found
          .filter(each => each.isFile || each.isDirectory)
          .map(each => ({ ...toFacts(each), name: each.name }))
      } catch (error) {
        wearOut(client)
        throw error
      }
    })
  }

  async *receive(path: StoragePath, { signal, start }: Call & { start: number }): AsyncGenerator<Buffer, void> {
    if (start > 0 && !this.#features.restarts) {
      throw new StorageError('UNAVAILABLE', 'This server sends only whole files: download the whole file.')
    }
    const lease = await this.#pool.take({ signal })
    // Closes the connection, because the transfer has not ended.
    const discard = () => lease.discard()
    signal.addEventListener('abort', discard, { once: true })
    const pipe = new PassThrough()
    const done = lease.connection.downloadTo(pipe, this.#at(path), start)
    // The end of the loop reports the error.
    done.catch(() => {})
    try {
      yield* pipe
      await done
      lease.release()
    } catch (error) {
      throw toStorageError(error, this.#settings)
    } finally {
      signal.removeEventListener('abort', discard)
      discard()
    }
  }

  async store(path: StoragePath, body: Readable, options: Call & { modifiedAt?: Date }): Promise<void> {
    let rest = body
    for (const [attempt, delay] of emptyDelays.entries()) {
      const isLast = attempt === emptyDelays.length - 1
      if (await this.#use(options, client => send(client, this.#at(path), rest, { delay, isLast }))) break
      rest = Readable.from([])
    }
    if (!options.modifiedAt) return
    const time = options.modifiedAt.toISOString().replace(/\D/g, '').slice(0, 14)
    await this.#command(options, `MFMT ${time} ${this.#at(path)}`)
  }

  async rename(from: StoragePath, to: StoragePath, call: Call): Promise<void> {
    await this.#use(call, client => client.rename(this.#at(from), this.#at(to)))
  }

  async makeFolder(path: StoragePath, call: Call): Promise<void> {
    await this.#command(call, `MKD ${this.#at(path)}`)
  }

  async removeFile(path: StoragePath, call: Call): Promise<void> {
    await this.#command(call, `DELE ${this.#at(path)}`)
  }

  async removeFolder(path: StoragePath, call: Call): Promise<void> {
    await this.#command(call, `RMD ${this.#at(path)}`)
  }

  close(): void {
    this.#pool.close()
  }

  #at(path: StoragePath): string {
    const { base } = this.#features
    return path === '' ? base || '/' : `${base}/${path}`
  }

  async #facts(client: Client, at: string): Promise<Facts | null> {
    if (this.#features.hasFacts) {
      const { message } = await client.send(`MLST ${at}`)
      const [, facts = ''] = /\n *(\S+;) /.exec(message) ?? []
      // The library leaves the folder itself ("cdir") out of listings.
      const [found] = parseList(`${facts.replace(/type=[cp]dir;/i, 'type=dir;')} name`)
      return found?.isFile || found?.isDirectory ? toFacts(found) : null
    }
    try {
      const size = await client.size(at)
      return { kind: 'file', size, modifiedAt: validTime(await client.lastMod(at)) }
    } catch (error) {
      if (!isRefusal(toStorageError(error, this.#settings))) throw error
      await client.cd(at)
      return { kind: 'directory', size: null, modifiedAt: null }
    }
  }

  async #listed(client: Client, at: string): Promise<FileInfo[]> {
    if (this.#features.hasFacts) {
      client.availableListCommands = ['MLSD']
      return await client.list(at)
    }
    // LIST takes wildcards, so its command must not contain a path. Its times depend on the time zone of the server.
    await client.cd(at)
    return (await client.list()).map(each => Object.assign(each, { modifiedAt: undefined }))
  }

  async #command(call: Call, command: string): Promise<void> {
    await this.#use(call, client => client.send(command))
  }

  async #use<T>({ signal }: Call, work: (client: Client) => Promise<T>): Promise<T> {
    try {
      return await this.#pool.use({ signal }, work)
    } catch (error) {
      throw signal.aborted ? signal.reason : toStorageError(error, this.#settings)
    }
  }
}

/** Resolves with false for an empty file that the server did not take, which can be sent again. */
async function send(
  client: Client,
  at: string,
  body: Readable,
  { delay, isLast }: { delay: number; isLast: boolean },
): Promise<boolean> {
  let [isEmpty, isEnded] = [true, false]
  const content = new Transform({
    transform(chunk: Buffer, _, done) {
      isEmpty = false
      done(null, chunk)
    },
    flush(done) {
      isEnded = true
      if (isEmpty && client.ftp.hasTLS) setTimeout(done, delay)
      else done()
    },
  })
  pipeline(body, content, () => {})
  try {
    await client.uploadFrom(content, at)
    return true
  } catch (error) {
    wearOut(client)
    if (isEmpty && isEnded && !isLast && isLost(error)) return false
    throw error
  }
}

function toFacts({ isDirectory, size, modifiedAt }: FileInfo): Facts {
  return isDirectory
    ? { kind: 'directory', size: null, modifiedAt: validTime(modifiedAt) }
    : { kind: 'file', size, modifiedAt: validTime(modifiedAt) }
}

function validTime(time: Date | undefined): Date | null {
  return time && !Number.isNaN(time.getTime()) ? time : null
}
