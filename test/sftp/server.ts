/** Starts the SFTP endpoint of a test server, and clients of it. */
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import ssh2, { type Client, type ClientChannel } from 'ssh2'
import type { Test } from 'tap'
import { startSftp } from '../../src/endpoints/sftp/index.ts'
import { startApp, type TestApp } from '../support/app.ts'

export interface SftpEndpoint {
  host: string
  port: number
  /** The faults that the endpoint has reported. */
  faults: Error[]
  close(): Promise<void>
}

export async function serveSftp(
  t: Test,
  { app }: TestApp,
  options: { connectionLimit?: number; loginTime?: number; isProxy?: () => boolean } = {},
): Promise<SftpEndpoint> {
  const faults: Error[] = []
  const address = { host: '127.0.0.1', port: 0 }
  const { services } = app
  const server = await startSftp({
    services,
    address,
    connectionLimit: 0,
    onFault: error => faults.push(error),
    ...options,
  })
  t.teardown(server.close)
  return { host: address.host, port: server.port, faults, close: server.close }
}

/** Starts a server with SFTP, an owner with a key, and a storage: on the disk as `/files`, or in memory as `/memory`. */
export async function startWithSftp(
  t: Test,
  options: Parameters<typeof startApp>[1] = {},
  type: 'local' | 'memory' = 'local',
) {
  const app = await startApp(t, options)
  const { token } = await app.register('owner@example.com')
  const root = join(app.folder, 'files')
  if (type === 'local') await mkdir(root)
  const [config, name] = type === 'local' ? [{ root }, 'Files'] : [{}, 'Memory']
  const providerId = await app.connectProvider(token, type, config, name)
  const { key } = await app.createKey(token, { name: 'sftp', scopes: ['write'] })
  return { app, token, root, providerId, key, endpoint: await serveSftp(t, app) }
}

export interface Authentication {
  username?: string
  password?: string
  privateKey?: string
}

/** Resolves when the client has authenticated. @throws Error if it may not */
export async function connectSsh(
  t: Test,
  { host, port }: SftpEndpoint,
  authentication: Authentication,
): Promise<Client> {
  const client = new ssh2.Client()
  t.teardown(async () => {
    client.end()
  })
  client.connect({ host, port, username: 'anybody', ...authentication })
  await once(client, 'ready')
  client.on('error', () => {})
  return client
}

/** A client that sends packets as they are. */
export class RawSftp {
  readonly channel: ClientChannel
  /** By the id of the request; 0 for the version. */
  readonly #waiting = new Map<number, (packet: Buffer) => void>()
  #bytes: Buffer = Buffer.alloc(0)
  #isClosed = false
  #id = 0

  private constructor(channel: ClientChannel) {
    this.channel = channel
    channel.on('data', (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk])
      while (this.#bytes.length >= 4 && this.#bytes.length >= 4 + this.#bytes.readUInt32BE()) {
        const end = 4 + this.#bytes.readUInt32BE()
        const packet = this.#bytes.subarray(4, end)
        this.#bytes = this.#bytes.subarray(end)
        const id = packet[0] === 2 ? 0 : packet.readUInt32BE(1)
        this.#waiting.get(id)?.(packet)
        this.#waiting.delete(id)
      }
    })
    channel.once('close', () => {
      this.#isClosed = true
      for (const next of this.#waiting.values()) next(Buffer.alloc(0))
    })
  }

  static async open(client: Client): Promise<RawSftp> {
    const channel = await new Promise<ClientChannel>((resolve, reject) =>
      client.subsys('sftp', (error, opened) => (error ? reject(error) : resolve(opened))),
    )
    return new RawSftp(channel)
  }

  /** Sends a packet without its length. */
  send(packet: Buffer): void {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(packet.length)
    this.channel.write(Buffer.concat([length, packet]))
  }

  /** Returns the response with an id, without its length; an empty one if the channel is closed. */
  receive(id: number): Promise<Buffer> {
    if (this.#isClosed) return Promise.resolve(Buffer.alloc(0))
    return new Promise(resolve => this.#waiting.set(id, resolve))
  }

  /** Opens a session and begins it. */
  static async start(client: Client): Promise<RawSftp> {
    const sftp = await RawSftp.open(client)
    await sftp.begin()
    return sftp
  }

  /** @param version the latest one that the client knows */
  async begin(version = 3): Promise<Map<string, string>> {
    const received = this.receive(0)
    this.send(Buffer.from([1, 0, 0, 0, version]))
    const packet = await received
    const extensions = new Map<string, string>()
    for (let at = 5; at < packet.length; ) {
      const [name, afterName] = textAt(packet, at)
      const [data, afterData] = textAt(packet, afterName)
      extensions.set(name, data)
      at = afterData
    }
    return extensions
  }

  /** Sends a request, and returns the response to it. */
  async request(type: number, ...fields: Buffer[]): Promise<Reply> {
    this.#id += 1
    const received = this.receive(this.#id)
    this.send(Buffer.concat([Buffer.from([type]), uint32(this.#id), ...fields]))
    return replyOf(await received)
  }
}

export interface Reply {
  type: number
  id: number
  /** What follows the id. */
  rest: Buffer
  /** The status and its message, if the response is one. */
  status: number | null
  message: string
}

export function replyOf(packet: Buffer): Reply {
  if (packet.length < 5) return { type: 0, id: 0, rest: packet, status: null, message: 'closed' }
  const [type, id, rest] = [packet.readUInt8(), packet.readUInt32BE(1), packet.subarray(5)]
  const isStatus = type === 101
  return { type, id, rest, status: isStatus ? rest.readUInt32BE() : null, message: isStatus ? textAt(rest, 4)[0] : '' }
}

export function textAt(packet: Buffer, at: number): [string, number] {
  const end = at + 4 + packet.readUInt32BE(at)
  return [packet.subarray(at + 4, end).toString(), end]
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export function uint64(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(value))
  return bytes
}

export function text(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([uint32(bytes.length), bytes])
}

export const noAttributes = uint32(0)

/** A client of one session, with the requests that tests use. */
export class SftpClient {
  readonly raw: RawSftp

  constructor(raw: RawSftp) {
    this.raw = raw
  }

  /** @param flags of OPEN: 1 reads, 2 writes, 4 appends, 8 creates, 16 truncates, 32 requires a new file */
  async open(path: string, flags: number): Promise<Buffer> {
    return (await done(this.raw.request(3, text(path), uint32(flags), noAttributes))).rest
  }

  write(handle: Buffer, position: number, bytes: Buffer): Promise<Reply> {
    return done(this.raw.request(6, handle, uint64(position), text(bytes)))
  }

  /** Returns null at the end. */
  async read(handle: Buffer, position: number, length: number): Promise<Buffer | null> {
    const reply = await this.raw.request(5, handle, uint64(position), uint32(length))
    if (reply.status === 1) return null
    return (await done(Promise.resolve(reply))).rest.subarray(4)
  }

  close(handle: Buffer): Promise<Reply> {
    return done(this.raw.request(4, handle))
  }

  async put(path: string, bytes: Buffer): Promise<void> {
    const handle = await this.open(path, 2 | 8 | 16)
    await this.write(handle, 0, bytes)
    await this.close(handle)
  }

  /** Returns the size of a file. */
  async size(path: string): Promise<number> {
    return Number((await done(this.raw.request(17, text(path)))).rest.readBigUInt64BE(4))
  }
}

/** The response to a request that was refused. */
export class Refused extends Error {
  readonly reply: Reply

  constructor(reply: Reply) {
    super(`${reply.status}: ${reply.message}`)
    this.reply = reply
  }
}

/** @throws Refused */
export async function done(reply: Promise<Reply>): Promise<Reply> {
  const found = await reply
  if (found.type === 0 || (found.status !== null && found.status !== 0)) throw new Refused(found)
  return found
}
