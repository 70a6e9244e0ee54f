/** A signature is valid for one bucket, one key and one host, however the request is sent. */
import { createHash, createHmac } from 'node:crypto'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { dirname, join } from 'node:path'
import t from 'tap'
import { extent } from '../support/extent.ts'
import { createS3World, type S3Keys } from './world.ts'

const domain = 's3.stowage.test'
const publicHost = 'public.stowage.test:8080'
const basePath = '/base'
const buckets = ['files', 'other']
/** Some begin as the addresses of other buckets and keys do. */
const keys = ['k', 'other/k', 's3/other/k', 'a b']
const internal = 'internal'

/** An address as clients know it, and what it names. */
interface Place {
  host: string
  path: string
  style: 'server' | 'domain' | 'bucket'
  bucket: string
  key: string
}

interface Sent {
  method?: string
  host: string
  path: string
  headers?: Record<string, string>
  body?: string | Buffer
}

interface Answer {
  status: number
  body: string
}

function placesOf(bucket: string, key: string): Place[] {
  const at = encodeURI(key)
  const names = { bucket, key }
  return [
    { host: 'direct.stowage.test:3000', path: `/s3/${bucket}/${at}`, style: 'server', ...names },
    { host: 'direct.stowage.test:3000', path: `${basePath}/s3/${bucket}/${at}`, style: 'server', ...names },
    { host: publicHost, path: `${basePath}/s3/${bucket}/${at}`, style: 'server', ...names },
    { host: publicHost, path: `/s3/${bucket}%2F${at}`, style: 'server', ...names },
    { host: domain, path: `/${bucket}/${at}`, style: 'domain', ...names },
    { host: `${bucket}.${domain}`, path: `/${at}`, style: 'bucket', ...names },
    {
      host: `${bucket.toUpperCase()}.${domain}.:8080`,
      path: `/${at.replaceAll('/', '%2F')}`,
      style: 'bucket',
      ...names,
    },
  ]
}

const digest = (text: string | Buffer) => createHash('sha256').update(text).digest('hex')
const mac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

/** Signs with code of its own. */
function signer({ accessKeyId, secretAccessKey }: S3Keys) {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '')
  const scope = `${time.slice(0, 8)}/us-east-1/s3/aws4_request`
  const key = scope.split('/').reduce<string | Buffer>(mac, `AWS4${secretAccessKey}`)
  const sign = (text: string) => mac(key, text).toString('hex')
  return {
    time,
    credential: `${accessKeyId}/${scope}`,
    sign,
    signRequest(
      { method = 'GET', path, query = '' }: { method?: string | undefined; path: string; query?: string },
      headers: readonly [string, string][],
      payload: string,
    ) {
      const lines = headers.map(([name, value]) => `${name}:${value}\n`).join('')
      const names = headers.map(([name]) => name).join(';')
      const canonical = [method, path.replaceAll('%2F', '/'), query, lines, names, payload].join('\n')
      return { names, value: sign(['AWS4-HMAC-SHA256', time, scope, digest(canonical)].join('\n')) }
    },
  }
}

/** Returns the headers of a request that is signed for a place. */
function sign(
  keys: S3Keys,
  { host, path }: { host: string; path: string },
  { method, payload = 'UNSIGNED-PAYLOAD', more = {} }: { method?: string; payload?: string; more?: object } = {},
): Record<string, string> {
  const { time, credential, signRequest } = signer(keys)
  const headers = Object.entries({ host, 'x-amz-content-sha256': payload, 'x-amz-date': time, ...more })
  headers.sort(([a], [b]) => (a < b ? -1 : 1))
  const { names, value } = signRequest({ method, path }, headers, payload)
  return {
    ...Object.fromEntries(headers),
    authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names}, Signature=${value}`,
  }
}

/** Returns the query of a presigned URL for a place. */
function presign(keys: S3Keys, { host, path }: { host: string; path: string }): string {
  const { time, credential, signRequest } = signer(keys)
  const query = [
    'X-Amz-Algorithm=AWS4-HMAC-SHA256',
    `X-Amz-Credential=${encodeURIComponent(credential)}`,
    `X-Amz-Date=${time}`,
    'X-Amz-Expires=60',
    'X-Amz-SignedHeaders=host',
  ].join('&')
  const { value } = signRequest({ path, query }, [['host', host]], 'UNSIGNED-PAYLOAD')
  return `${query}&X-Amz-Signature=${value}`
}

/** Returns a form that stores a file with the key `form` in a bucket. */
function form(keys: S3Keys, bucket: string): { headers: Record<string, string>; body: string } {
  const { time, credential, sign } = signer(keys)
  const signed = {
    key: 'form',
    success_action_status: '201',
    'x-amz-algorithm': 'AWS4-HMAC-SHA256',
    'x-amz-credential': credential,
    'x-amz-date': time,
  }
  const conditions = Object.entries({ ...signed, bucket }).map(([name, value]) => ({ [name]: value }))
  const expiration = new Date(Date.now() + 60_000).toISOString()
  const policy = Buffer.from(JSON.stringify({ expiration, conditions })).toString('base64')
  const fields = { ...signed, policy, 'x-amz-signature': sign(policy) }
  const parts = Object.entries(fields).map(
    ([name, value]) => `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const file = '--x\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\ncontent\r\n--x--\r\n'
  return { headers: { 'content-type': 'multipart/form-data; boundary=x' }, body: parts.join('') + file }
}

const agent = new Agent({ keepAlive: true, maxSockets: 20 })
t.teardown(() => agent.destroy())

/** Sends a request with any host and any target. */
function send(url: string, { method = 'GET', host, path, headers = {}, body }: Sent): Promise<Answer> {
  const { port } = new URL(url)
  return new Promise((resolve, reject) => {
    const to = { agent, host: '127.0.0.1', port, method, path, headers: { ...headers, host } }
    request(to, response => {
      const parts: Buffer[] = []
      response.on('data', part => parts.push(part))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts).toString() }))
    })
      .on('error', reject)
      .end(body)
  })
}

t.test('a signature is accepted exactly for the bucket, the key and the host that it was made for', async t => {
  const settings = { s3Domain: domain, publicUrl: `https://${publicHost}${basePath}`, basePath }
  const world = await createS3World(t, { settings })
  const direct = world.app
  const proxied = await direct.replica({ settings: { ...settings, trustedProxies: ['127.0.0.1'] } })
  const { s3 } = await world.createKey()
  const roots = [world.root, (await world.connect('Other', 'other')).root]
  for (const [index, bucket] of buckets.entries()) {
    for (const key of keys) {
      const file = join(roots[index] ?? '', key)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, `${bucket}: ${key}`)
    }
  }
  const places = buckets.flatMap(bucket => keys.flatMap(key => placesOf(bucket, key)))

  /** Returns the ways to send a request to a place, some of which also name the place of the signature. */
  function waysTo(place: Place, signed: Place): [string, string, Sent][] {
    const { host, path } = place
    const withoutBase = path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path
    return [
      ['direct', direct.url, { host, path }],
      ['with an untrusted header', direct.url, { host, path, headers: { 'x-forwarded-host': signed.host } }],
      ['with its origin in the URL', direct.url, { host: signed.host, path: `http://${host}${path}` }],
      ['through a proxy', proxied.url, { host: internal, path, headers: { 'x-forwarded-host': host } }],
      [
        'through two proxies',
        proxied.url,
        { host: signed.host, path, headers: { 'x-forwarded-host': `${signed.host}, ${host}` } },
      ],
      ...(place.host === publicHost
        ? ([
            ['through a proxy that removes the base path', proxied.url, { host: internal, path: withoutBase }],
            ['through a proxy that changes the host', direct.url, { host: internal, path }],
          ] as [string, string, Sent][])
        : []),
    ]
  }

  let accepted = 0
  const wrong: string[] = []
  const check = async (signed: Place, place: Place, number: number) => {
    const isSame =
      signed.style === place.style &&
      signed.bucket === place.bucket &&
      signed.key === place.key &&
      (signed.host === place.host || (signed.style === 'server' && signed.host === publicHost))
    for (const [way, url, sent] of waysTo(place, signed)) {
      const isInQuery = number++ % 2 === 1
      const { status, body } = await send(url, {
        ...sent,
        path: isInQuery ? `${sent.path}?${presign(s3, signed)}` : sent.path,
        headers: { ...sent.headers, ...(!isInQuery && sign(s3, signed)) },
      })
      const isRight = isSame
        ? status === 200 && body === `${signed.bucket}: ${signed.key}`
        : status === 403 && body.includes('<Code>SignatureDoesNotMatch</Code>')
      if (isSame) accepted += 1
      if (isRight) continue
      wrong.push(`${way}: signed ${signed.host}${signed.path}, sent ${place.host}${place.path}: ${status} ${body}`)
    }
  }
  for (const [turn, signed] of places.entries()) {
    const isTried = (index: number) => index === turn || extent({ gate: (turn + index) % 4 === 0, nightly: true })
    await Promise.all(places.map((place, index) => isTried(index) && check(signed, place, turn + index)))
  }
  t.same(wrong.slice(0, 20), [], `${wrong.length} are wrong`)
  t.ok(accepted > 5 * places.length, `${accepted} are accepted`)

  await t.test('a malformed address names nothing, signed or not', async t => {
    const malformed = [
      { host: internal, path: '/%733/files/k', signedPath: '/s3/files/k' },
      { host: internal, path: '/s3//k', signedPath: '/s3//k' },
      { host: domain, path: '//k', signedPath: '//k' },
    ]
    for (const { host, path, signedPath } of malformed) {
      const { status, body } = await send(direct.url, { host, path, headers: sign(s3, { host, path: signedPath }) })
      t.match({ status, body }, { status: path.startsWith('/%') ? 401 : 400, body: /The URL is malformed/ }, path)
    }
    const plain = await send(direct.url, { host: `.${domain}`, path: '/healthz' })
    t.equal(plain.status, 200, 'a host with an empty name is not at the S3 domain')
    for (const host of [domain, `files.${domain}`]) {
      const { status } = await send(direct.url, { method: 'OPTIONS', host, path: '*' })
      t.equal(status, 404)
    }
  })

  await t.test('uploads, in chunks as well', async t => {
    const [own, other] = buckets.map(bucket => `${bucket}.${domain}`)
    const chunked = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'
    const bodies = [
      { payload: 'UNSIGNED-PAYLOAD', body: 'content', more: {} },
      {
        payload: chunked,
        body: '7\r\ncontent\r\n0\r\n\r\n',
        more: { 'x-amz-decoded-content-length': '7' },
      },
    ]
    for (const { payload, body, more } of bodies) {
      const path = `/new-${payload}`
      const put = (host: string | undefined, forwarded: string | undefined) =>
        send(direct.url, {
          method: 'PUT',
          host: host ?? '',
          path,
          body,
          headers: {
            ...sign(s3, { host: own ?? '', path }, { method: 'PUT', payload, more }),
            host: host ?? '',
            'x-forwarded-host': forwarded ?? '',
          },
        })
      t.match(await put(other, own), { status: 403 })
      t.match(await put(own, other), { status: 200 })
    }
    const names = await Promise.all(roots.map(root => readdir(root)))
    t.same(
      names.map(list => list.filter(name => name.startsWith('new-')).toSorted()),
      [['new-STREAMING-UNSIGNED-PAYLOAD-TRAILER', 'new-UNSIGNED-PAYLOAD'], []],
    )
  })

  await t.test('forms', async t => {
    for (const [signedFor, host, forwarded, expected] of [
      ['files', `files.${domain}`, `other.${domain}`, 201],
      ['other', `files.${domain}`, `other.${domain}`, 403],
      ['files', `other.${domain}`, `files.${domain}`, 403],
    ] as const) {
      const { headers, body: sent } = form(s3, signedFor)
      const { status, body } = await send(direct.url, {
        method: 'POST',
        host,
        path: '/',
        headers: { ...headers, 'x-forwarded-host': forwarded },
        body: sent,
      })
      t.equal(status, expected, `${signedFor} at ${host}: ${body}`)
      if (status === 201) t.match(body, `<Location>http://files.${domain}/form</Location>`)
    }
  })
})
