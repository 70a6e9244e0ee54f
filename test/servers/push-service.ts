/** A push service of browsers on loopback, which checks what it gets as RFC 8030, RFC 8188, RFC 8291 and RFC 8292 describe it. */
import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, randomUUID, verify } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { Test } from 'tap'
import { certificate } from './certificate.ts'

export interface PushedMessage {
  endpoint: string
  headers: IncomingHttpHeaders
  /** Bytes of the body. */
  size: number
  note: { title: string; body: string; path: string; tag: string; language: string; direction: string }
}

/** A browser that has subscribed, and the input with which it registers itself at Stowage. */
export interface FakeBrowser {
  endpoint: string
  publicKey: string
  auth: string
}

export interface PushService {
  messages: PushedMessage[]
  /** Requests without a message: the server looks whether it reaches the service. */
  probes: number
  /** The status and the headers of the next responses. */
  responds: { status: number; headers?: Record<string, string> }
  /** Endpoints that do not respond before the promise resolves. */
  late: Map<string, Promise<void>>
  /** @param serverKey the only key whose signature the service accepts for this browser */
  subscribe(serverKey: string): FakeBrowser
}

/** Trusts the certificate of the service in this process. */
export async function startPushService(t: Pick<Test, 'teardown'>): Promise<PushService> {
  const { key, cert } = await certificate()
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, cert])
  const browsers = new Map<string, { open: (body: Buffer) => Buffer; serverKey: string }>()
  const server = createServer({ key, cert }, async (request, response) => {
    const path = request.url ?? ''
    const body = await buffer(request)
    const browser = browsers.get(path)
    if (request.method !== 'POST') {
      service.probes += 1
      return response.writeHead(404).end()
    }
    if (!browser) return response.writeHead(410).end()
    const { status, headers = {} } = service.responds
    try {
      requireSigned(request.headers, browser.serverKey, origin)
      if (request.headers['content-encoding'] !== 'aes128gcm') throw new Error('The content is not encrypted.')
      if (!/^[\w-]{1,32}$/.test(String(request.headers.topic))) throw new Error('The topic is too long.')
      const note = JSON.parse(browser.open(body).toString())
      service.messages.push({ endpoint: origin + path, headers: request.headers, size: body.length, note })
    } catch (error) {
      return response.writeHead(400).end(String(error))
    }
    await service.late.get(origin + path)
    return response.writeHead(status, headers).end('a response that nobody reads')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const origin = `https://127.0.0.1:${typeof address === 'object' ? address?.port : null}`
  t.teardown(() => {
    setDefaultCACertificates(before)
    server.closeAllConnections()
    server.close()
  })
  const service: PushService = {
    messages: [],
    probes: 0,
    responds: { status: 201 },
    late: new Map(),
    subscribe(serverKey) {
      const path = `/push/${randomUUID()}`
      const ecdh = createECDH('prime256v1')
      const publicKey = ecdh.generateKeys()
      const auth = randomBytes(16)
      browsers.set(path, { serverKey, open: body => decrypt(body, { ecdh, publicKey, auth }) })
      const [key, secret] = [publicKey, auth].map(bytes => bytes.toString('base64url'))
      return { endpoint: origin + path, publicKey: key ?? '', auth: secret ?? '' }
    },
  }
  return service
}

/** RFC 8292. @throws if the signature is missing, wrong, for another service, or valid for too long */
function requireSigned({ authorization = '' }: IncomingHttpHeaders, serverKey: string, origin: string): void {
  const [, token = '', key = ''] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(authorization) ?? []
  if (key !== serverKey) throw new Error('The key is not the one with which the browser has subscribed.')
  const point = Buffer.from(key, 'base64url')
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map(part => part.toString('base64url'))
  const jwk = { kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '' }
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
  const [header = '', claims = '', signature = ''] = token.split('.')
  const signed = Buffer.from(`${header}.${claims}`)
  const bytes = Buffer.from(signature, 'base64url')
  if (!verify('sha256', signed, { key: publicKey, dsaEncoding: 'ieee-p1363' }, bytes)) throw new Error('bad signature')
  const { aud, exp, sub } = JSON.parse(Buffer.from(claims, 'base64url').toString())
  const seconds = exp - Date.now() / 1000
  if (aud !== origin || seconds <= 0 || seconds > 24 * 60 * 60) throw new Error('bad claims')
  if (sub !== undefined && !/^(?:https|mailto):/.test(sub)) throw new Error('bad contact')
}

interface BrowserKeys {
  ecdh: ReturnType<typeof createECDH>
  publicKey: Buffer
  auth: Buffer
}

/** RFC 8291 and RFC 8188, for a message of one record. @throws if anybody has changed the message */
function decrypt(body: Buffer, { ecdh, publicKey, auth }: BrowserKeys): Buffer {
  const salt = body.subarray(0, 16)
  const length = body[20] ?? 0
  const senderKey = body.subarray(21, 21 + length)
  const record = body.subarray(21 + length)
  if (body.length > 4096 || record.length > body.readUInt32BE(16)) throw new Error('The message is too long.')
  const derive = (secret: Buffer, salt: Buffer, info: string | Buffer, bytes: number) =>
    Buffer.from(hkdfSync('sha256', secret, salt, info, bytes))
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), publicKey, senderKey])
  const secret = derive(ecdh.computeSecret(senderKey), auth, info, 32)
  const key = derive(secret, salt, 'Content-Encoding: aes128gcm\0', 16)
  const nonce = derive(secret, salt, 'Content-Encoding: nonce\0', 12)
  const decipher = createDecipheriv('aes-128-gcm', key, nonce, { authTagLength: 16 })
  decipher.setAuthTag(record.subarray(-16))
  const plain = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()])
  const end = plain.findLastIndex(byte => byte !== 0)
  if (plain[end] !== 2) throw new Error('The delimiter of the last record is missing.')
  return plain.subarray(0, end)
}
