import { createHash, createHmac, type KeyObject, randomBytes } from 'node:crypto'
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import t from 'tap'
import { ChunkedBody, chunkedForms } from '../../src/endpoints/s3/chunked-body.ts'
import { SignatureError } from '../../src/endpoints/s3/errors.ts'
import {
  hashCanonicalRequest,
  parseSignature,
  parseSignedHeaders,
  parseSignedQuery,
  type Signature,
  type SignedMessage,
} from '../../src/endpoints/s3/signature.ts'
import { deriveSigningKey, hmac, SigningKeys, verifySignature } from '../../src/endpoints/s3/verify-signature.ts'

const accessKeyId = 'AKIAIOSFODNN7EXAMPLE'
const secretAccessKey = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'
const minute = 60_000

/** Keeps the requests that the SDK signs, and sends none. */
function signer() {
  const sent: SignedMessage[] = []
  const client = new S3Client({
    region: 'eu-central-1',
    endpoint: 'http://stowage.example:3000/s3',
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    requestHandler: {
      handle: async (request: { method: string; path: string; query?: object; headers: Record<string, string> }) => {
        const query = Object.entries(request.query ?? {}) as [string, string][]
        const headers = parseSignedHeaders(Object.entries(request.headers).flat())
        sent.push({ method: request.method, path: request.path, query, headers })
        throw new Error('not sent')
      },
    } as never,
  })
  const signed = async (
    command: GetObjectCommand | ListObjectsV2Command | PutObjectCommand,
  ): Promise<SignedMessage> => {
    await client.send(command as GetObjectCommand).catch(() => {})
    const message = sent.pop()
    if (!message) throw new Error('The SDK sent nothing.')
    return message
  }
  return { client, signed }
}

function messageOf(url: string, method = 'GET'): SignedMessage {
  const { host, pathname, search } = new URL(url)
  return {
    method,
    path: pathname,
    query: parseSignedQuery(search.slice(1)),
    headers: parseSignedHeaders(['host', host]),
  }
}

function signatureOf(message: SignedMessage): Signature {
  const signature = parseSignature(message)
  if (!signature) throw new Error('There is no signature.')
  return signature
}

function verify(message: SignedMessage, secrets: readonly string[] = [secretAccessKey], now = Date.now()) {
  const signature = signatureOf(message)
  return verifySignature(signature, [message], keysOf(signature, secrets), now)
}

function keysOf(signature: Signature, secrets: readonly string[]): KeyObject[] {
  return secrets.map(secret => deriveSigningKey(secret, signature))
}

const faultOf = (work: () => unknown): string => {
  try {
    work()
    return 'none'
  } catch (error) {
    return error instanceof SignatureError ? error.s3Code : String(error)
  }
}

const with_ = (message: SignedMessage, name: string, value: string): SignedMessage => ({
  ...message,
  headers: new Map([...message.headers, [name, value]]),
})

t.test('requests that the SDK of AWS signs', async t => {
  const { signed } = signer()
  const keys = ['plain.txt', "a b+c/ü(1)!'*~.txt", 'a//b/../c', 'ends with a space ', '%2F%', '日本/語']
  for (const Key of keys) {
    const put = await signed(
      new PutObjectCommand({ Bucket: 'files', Key, Body: 'x', ContentType: 'text/plain', Metadata: { mtime: '1.5' } }),
    )
    t.equal(verify(put).accessKeyId, accessKeyId, Key)
    t.equal(
      faultOf(() => verify({ ...put, method: 'GET' })),
      'SignatureDoesNotMatch',
    )
    t.equal(
      faultOf(() => verify({ ...put, path: `${put.path}x` })),
      'SignatureDoesNotMatch',
    )
    t.equal(
      faultOf(() => verify({ ...put, query: [...put.query, ['acl', '']] })),
      'SignatureDoesNotMatch',
    )
    t.equal(
      faultOf(() => verify(put, ['another secret'])),
      'SignatureDoesNotMatch',
    )
    t.equal(verify(put, ['another secret', secretAccessKey]).payload, put.headers.get('x-amz-content-sha256'))
    t.equal(
      faultOf(() => verify(with_(put, 'x-amz-meta-mtime', '2'))),
      'SignatureDoesNotMatch',
    )
    t.equal(
      faultOf(() => verify(with_(put, 'x-amz-copy-source', '/other/file'))),
      'AccessDenied',
    )
  }
  const list = await signed(
    new ListObjectsV2Command({ Bucket: 'files', Prefix: 'a b/+&=', Delimiter: '/', MaxKeys: 3 }),
  )
  t.equal(verify(list).scope.region, 'eu-central-1')
  t.equal(
    faultOf(() => verify(list, [secretAccessKey], Date.now() + 16 * minute)),
    'RequestTimeTooSkewed',
  )
  t.equal(
    faultOf(() => verify(list, [secretAccessKey], Date.now() - 16 * minute)),
    'RequestTimeTooSkewed',
  )
  t.ok(verify(list, [secretAccessKey], Date.now() + 14 * minute))
  const behind = with_(list, 'host', '127.0.0.1:3000')
  t.equal(
    faultOf(() => verify(behind)),
    'SignatureDoesNotMatch',
  )
  const signature = signatureOf(behind)
  const signingKeys = keysOf(signature, [secretAccessKey])
  t.ok(verifySignature(signature, [behind, list], signingKeys, Date.now()), 'in one of several forms')
})

t.test('a Date header instead of X-Amz-Date', async t => {
  const { signed } = signer()
  const original = await signed(new GetObjectCommand({ Bucket: 'files', Key: 'a' }))
  const now = new Date()
  const timestamp = now.toISOString().replace(/[-:]|\.\d+/g, '')
  // Python's email.utils.formatdate writes the time zone as -0000.
  const headers = new Map([...original.headers, ['date', now.toUTCString().replace('GMT', '-0000')]])
  headers.delete('x-amz-date')
  const scope = `${timestamp.slice(0, 8)}/eu-central-1/s3/aws4_request`
  const names = ['date', 'host', 'x-amz-content-sha256']
  const others = [...headers.keys()].filter(name => name.startsWith('x-amz-') && !names.includes(name))
  for (const name of others) headers.delete(name)
  const hash = hashCanonicalRequest({ ...original, headers }, names, headers.get('x-amz-content-sha256') ?? '')
  const key = deriveSigningKey(secretAccessKey, { scope: { date: timestamp.slice(0, 8), region: 'eu-central-1' } })
  const value = hmac(key, `AWS4-HMAC-SHA256\n${timestamp}\n${scope}\n${hash}`).toString('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${value}`
  const message = with_({ ...original, headers }, 'authorization', authorization)
  t.equal(verify(message).timestamp, timestamp)
  t.equal(
    faultOf(() => verify(with_(message, 'date', now.toISOString()))),
    'AuthorizationHeaderMalformed',
  )
  t.equal(
    faultOf(() => verify(with_(message, 'date', new Date(now.getTime() + minute).toUTCString()))),
    'SignatureDoesNotMatch',
  )
})

t.test('signing keys are derived once, and remembered only for those who know a secret', async t => {
  const message = await signer().signed(new GetObjectCommand({ Bucket: 'files', Key: 'a' }))
  const signature = signatureOf(message)
  const signingKeys = new SigningKeys()
  let derived = 0
  const use = (secret: string, of: Signature = signature) =>
    signingKeys.use(
      of,
      () => {
        derived += 1
        return [secret]
      },
      keys => verifySignature(of, [message], keys, Date.now()),
    )
  for (const _ of [1, 2]) t.throws(() => use('another secret'))
  for (const _ of [1, 2]) t.ok(use(secretAccessKey))
  t.equal(derived, 3)
  t.throws(() => use('another secret', { ...signature, accessKeyId: 'ANOTHER' }), 'another access key')
  const region = { ...signature.scope, region: 'us-east-1' }
  t.throws(() => use(secretAccessKey, { ...signature, scope: region }), 'another region')
  t.equal(derived, 5)
})

t.test('URLs that the SDK of AWS presigns', async t => {
  const { client } = signer()
  const get = new GetObjectCommand({ Bucket: 'files', Key: 'a b/ü.txt', ResponseContentType: 'text/plain' })
  const message = messageOf(await getSignedUrl(client, get, { expiresIn: 60 }))
  t.equal(verify(message).payload, 'UNSIGNED-PAYLOAD')
  t.ok(verify(message, [secretAccessKey], Date.now() + 58_000))
  t.equal(
    faultOf(() => verify(message, [secretAccessKey], Date.now() + 62_000)),
    'AccessDenied',
  )
  t.equal(
    faultOf(() => verify(message, [secretAccessKey], Date.now() - 16 * minute)),
    'AccessDenied',
  )
  t.equal(
    faultOf(() => verify(with_(message, 'x-amz-meta-a', 'b'))),
    'AccessDenied',
  )
  const changed = message.query.map(([name, value]) => [name, name === 'X-Amz-Expires' ? '3600' : value] as const)
  t.equal(
    faultOf(() => verify({ ...message, query: changed })),
    'SignatureDoesNotMatch',
  )
  for (const expires of ['604801', '0', '-1', '1e3', '', 'x']) {
    const query = message.query.map(([name, value]) => [name, name === 'X-Amz-Expires' ? expires : value] as const)
    t.equal(
      faultOf(() => verify({ ...message, query })),
      'AuthorizationQueryParametersError',
      expires,
    )
  }
  const twice = { ...message, query: [...message.query, ...message.query] }
  t.equal(
    faultOf(() => verify(twice)),
    'AuthorizationQueryParametersError',
  )
})

t.test('malformed signatures', async t => {
  const { signed } = signer()
  const list = await signed(new ListObjectsV2Command({ Bucket: 'files' }))
  const authorization = list.headers.get('authorization') ?? ''
  const faults = (changed: string) => faultOf(() => verify(with_(list, 'authorization', changed)))
  const malformed = [
    authorization.replace(/Signature=[0-9a-f]+/, 'Signature='),
    authorization.replace(/Signature=[0-9a-f]+/, `Signature=${'f'.repeat(65)}`),
    authorization.replace('/s3/', '/iam/'),
    authorization.replace('/eu-central-1/', '/'),
    authorization.replace(/SignedHeaders=[^,]+/, 'SignedHeaders=host;Host'),
    authorization.replace(/SignedHeaders=[^,]+/, 'SignedHeaders=x-amz-date;host'),
    'AWS4-HMAC-SHA256',
    `AWS4-HMAC-SHA256 ${','.repeat(10_000)}`,
  ]
  for (const text of malformed) t.equal(faults(text), 'AuthorizationHeaderMalformed', text.slice(0, 200))
  t.equal(faults(`Bearer ${accessKeyId}`), 'InvalidArgument')
  t.equal(faults(authorization.replace('host;', 'host;range;')), 'SignatureDoesNotMatch')
  t.equal(faults(authorization.replace('host;', '')), 'AccessDenied')
  t.equal(faults(authorization.replace(/Credential=([^/]+)\/\d+/, 'Credential=$1/20130524')), 'AccessDenied')
  t.equal(
    faultOf(() => verify(with_(list, 'x-amz-date', '20269999T999999Z'))),
    'AccessDenied',
  )
  t.equal(
    faultOf(() => parseSignedQuery('a=%FF')),
    'InvalidURI',
  )
  t.equal(parseSignature({ ...list, headers: new Map() }), null)
})

/** The examples of https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html and its page about trailers. */
const example = {
  accessKeyId,
  scope: { date: '20130524', region: 'us-east-1' },
  timestamp: '20130524T000000Z',
  signedHeaders: ['host'],
  expiresIn: null,
}
const content = 'a'.repeat(66_560)
const seeds = {
  plain: {
    seed: '4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9',
    chunks: [
      'ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648',
      '0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497',
      'b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9',
    ],
  },
  trailer: {
    seed: '106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e',
    chunks: [
      'b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2',
      '1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7',
      '2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992',
    ],
    signature: 'd81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435',
  },
}

function chunksOf([first, second, last]: readonly string[]): string {
  const chunk = (data: string, signature = '') =>
    `${data.length.toString(16)};chunk-signature=${signature}\r\n${data}${data && '\r\n'}`
  return chunk(content.slice(0, 65_536), first) + chunk(content.slice(65_536), second) + chunk('', last)
}

function decode(
  form: keyof typeof chunkedForms,
  seed: string,
  text: string,
  { announced = [], step = text.length }: { announced?: string[]; step?: number } = {},
): { data: string; trailers: Record<string, string> } {
  const signingKey = deriveSigningKey(secretAccessKey, example)
  const body = new ChunkedBody(chunkedForms[form], { ...example, value: seed, payload: form, signingKey }, announced)
  const bytes = Buffer.from(text)
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; at += step) parts.push(...body.decode(bytes.subarray(at, at + step)))
  body.end()
  return { data: Buffer.concat(parts).toString(), trailers: Object.fromEntries(body.trailers) }
}

t.test('bodies in signed chunks, as in the examples of AWS', async t => {
  const form = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD'
  const { seed, chunks } = seeds.plain
  const body = `${chunksOf(chunks)}\r\n`
  for (const step of [body.length, 1, 7, 1000]) t.equal(decode(form, seed, body, { step }).data, content, `${step}`)
  t.equal(decode(form, seed, body.slice(0, -2)).data, content, 'without the last empty line')
  const broken = {
    'another byte': body.replace('aaaa', 'aaab'),
    'chunks in another order': chunksOf([chunks[1] ?? '', chunks[0] ?? '', chunks[2] ?? '']),
    'a repeated chunk': body.slice(0, 65_536 + 90) + body,
  }
  for (const [what, text] of Object.entries(broken)) {
    t.equal(
      faultOf(() => decode(form, seed, text)),
      'SignatureDoesNotMatch',
      what,
    )
  }
  const malformed = {
    'no last chunk': body.slice(0, body.lastIndexOf('0;chunk')),
    'a part of a chunk': body.slice(0, 100),
    nothing: '',
    'an unsigned chunk': `1\r\na\r\n0\r\n\r\n`,
    'a negative size': '-1;chunk-signature=',
    'a size beyond all files': `fffffffffff;chunk-signature=${'0'.repeat(64)}\r\n`,
    'an endless line': '0'.repeat(5000),
    'bytes after the end': `${body}more\r\n`,
    'a trailer': `${body.slice(0, -2)}x-amz-checksum-crc32:AAAA\r\n\r\n`,
  }
  for (const [what, text] of Object.entries(malformed)) {
    t.equal(
      faultOf(() => decode(form, seed, text)),
      'IncompleteBody',
      what,
    )
  }
})

t.test('trailing headers', async t => {
  const form = 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER'
  const { seed, chunks, signature } = seeds.trailer
  const announced = ['x-amz-checksum-crc32c']
  const trailers = { 'x-amz-checksum-crc32c': 'sOO8/Q==' }
  const ends = {
    'as in the documentation': `x-amz-checksum-crc32c:sOO8/Q==\r\nx-amz-trailer-signature:${signature}\r\n\r\n`,
    'as minio-go sends them': `x-amz-checksum-crc32c:sOO8/Q==\n\r\nx-amz-trailer-signature:${signature}\r\n\r\n`,
  }
  for (const [what, end] of Object.entries(ends)) {
    for (const step of [content.length * 2, 11]) {
      t.same(decode(form, seed, chunksOf(chunks) + end, { announced, step }), { data: content, trailers }, what)
    }
  }
  const end = ends['as in the documentation']
  const other = end.replace('sOO8', 'sOO9')
  t.equal(
    faultOf(() => decode(form, seed, chunksOf(chunks) + other, { announced })),
    'SignatureDoesNotMatch',
  )
  const unsigned = end.replace(/x-amz-trailer-signature.*\r\n/, '')
  t.equal(
    faultOf(() => decode(form, seed, chunksOf(chunks) + unsigned, { announced })),
    'IncompleteBody',
  )

  const plain = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'
  const sent = '3\r\nabc\r\nA\r\n0123456789\r\n0\r\nx-amz-checksum-crc32c: sOO8/Q==\r\n\r\n'
  for (const step of [1, 100]) {
    t.same(decode(plain, seed, sent, { announced, step }), { data: 'abc0123456789', trailers })
  }
  t.same(decode(plain, seed, sent.replace('==\r\n', '==\n\r\n')).trailers, trailers, 'as minio-go sends them')
  t.equal(
    faultOf(() => decode(plain, seed, '3\r\nabc\r\n0\r\n\r\n', { announced })),
    'IncompleteBody',
    'none came',
  )
  const many = Array.from({ length: 11 }, (_, at) => `x-${at}:${at}\r\n`).join('')
  t.equal(
    faultOf(() => decode(plain, seed, `0\r\n${many}\r\n`)),
    'IncompleteBody',
    'too many',
  )
})

t.test('random data in chunks of random sizes', async t => {
  const signingKey = deriveSigningKey(secretAccessKey, example)
  const scope = '20130524/us-east-1/s3/aws4_request'
  const sha256 = (data: Buffer) => createHash('sha256').update(data).digest('hex')
  let previous = seeds.plain.seed
  const data = randomBytes(50_000)
  const starts = [0, 1, 4, 13, 8000, 8001, 30_000, data.length]
  const parts = starts.flatMap((start, at) => {
    const chunk = data.subarray(start, starts[at + 1])
    const text = `AWS4-HMAC-SHA256-PAYLOAD\n20130524T000000Z\n${scope}\n${previous}\n${sha256(Buffer.alloc(0))}\n${sha256(chunk)}`
    previous = createHmac('sha256', signingKey).update(text).digest('hex')
    const head = `${chunk.length.toString(16)};chunk-signature=${previous}\r\n`
    return chunk.length > 0 || at === starts.length - 1 ? [Buffer.from(head), chunk, Buffer.from('\r\n')] : []
  })
  const bytes = Buffer.concat(parts)
  const signature = { ...example, value: seeds.plain.seed, payload: '', signingKey }
  const body = new ChunkedBody(chunkedForms['STREAMING-AWS4-HMAC-SHA256-PAYLOAD'], signature, [])
  t.ok(Buffer.concat([...body.decode(bytes)]).equals(data))
  body.end()
})
