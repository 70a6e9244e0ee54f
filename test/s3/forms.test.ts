/** Uploads of HTML forms: their policies, signatures and responses. */
import { createHmac } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import t from 'tap'
import { createS3World, type S3Keys } from './world.ts'

const filename = '$' + '{filename}'
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

interface FormOptions {
  keys: S3Keys
  fields?: Record<string, string>
  conditions?: unknown[]
  /** Changes the policy before it is signed. */
  policy?: object | string
  /** Milliseconds from now. */
  signedAt?: number
  expiresIn?: number
}

/** Returns the fields of a form as the SDKs make them. */
function sign({ keys, fields = {}, conditions = [], policy, signedAt = 0, expiresIn = 60_000 }: FormOptions) {
  const now = new Date(Date.now() + signedAt)
  const time = `${now.toISOString().replace(/[-:]/g, '').slice(0, 15)}Z`
  const date = time.slice(0, 8)
  const signing: Record<string, string> = {
    bucket: 'files',
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': `${keys.accessKeyId}/${date}/us-east-1/s3/aws4_request`,
    'X-Amz-Date': time,
  }
  const all = { ...fields, ...signing }
  const document = {
    expiration: new Date(Date.now() + expiresIn).toISOString(),
    conditions: [...conditions, ...Object.entries(all).map(([name, value]) => ({ [name]: value }))],
  }
  const text = typeof policy === 'string' ? policy : JSON.stringify({ ...document, ...policy })
  const Policy = Buffer.from(text).toString('base64')
  const key = [date, 'us-east-1', 's3', 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${keys.secretAccessKey}`,
  )
  return { ...all, Policy, 'X-Amz-Signature': hmac(key, Policy).toString('hex') }
}

t.test('forms over S3', async t => {
  const world = await createS3World(t)
  const { app, root } = world
  const { s3: keys, key: apiKey, id } = await world.createKey()
  const post = async (
    fields: Record<string, string>,
    content: string | null = 'content',
    { name = 'a file.txt', path = '/s3/files', headers = {} } = {},
  ) => {
    const form = new FormData()
    for (const [field, value] of Object.entries(fields)) form.append(field, value)
    if (content !== null) form.append('file', new File([content], name))
    const response = await fetch(app.url + path, { method: 'POST', body: form, redirect: 'manual', headers })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, code: /<Code>(\w+)</.exec(text)?.[1] }
  }
  const send = (options: Omit<FormOptions, 'keys'>, content?: string, more?: object) =>
    post(sign({ keys, ...options }), content, more)
  const text = (name: string) => readFile(join(root, name), 'utf8')

  await t.test('a form stores its file, and its policy says which', async t => {
    const stored = await send({ fields: { key: 'plain.txt' } })
    t.equal(stored.status, 204)
    t.ok(stored.headers.get('etag'))
    t.equal(stored.headers.get('location'), `${app.url}/s3/files/plain.txt`)
    t.equal(await text('plain.txt'), 'content')
    const mtime = { key: 'made/by form/kept.txt', 'x-amz-meta-mtime': '1614834367.5', 'Content-Type': 'text/x-test' }
    t.equal((await send({ fields: mtime })).status, 204)
    t.equal(Math.floor((await stat(join(root, 'made/by form/kept.txt'))).mtimeMs), 1614834367500)
    const named = { conditions: [['starts-with', '$key', 'named/']] }
    const withName = { ...sign({ keys, ...named }), key: `named/${filename}` }
    t.equal((await post(withName, 'x', { name: 'C:\\folder\\ü (1).txt' })).status, 204)
    t.equal(await text('named/ü (1).txt'), 'x')
    t.equal((await post({ ...withName, key: `other/${filename}` })).code, 'AccessDenied')
    t.equal((await send({ fields: { key: 'folder/' } })).code, 'InvalidArgument')
    t.equal((await send({ fields: { key: '../outside' } })).code, 'InvalidArgument')
    t.equal((await post(withName, 'x', { name: '..' })).code, 'InvalidArgument')
  })

  await t.test('the name of the file cannot make a key that is too long', async t => {
    const conditions = [['starts-with', '$key', '']]
    const signed = (key: string) => ({ ...sign({ keys, conditions }), key })
    const five = Array.from({ length: 5 }, () => filename).join('/')
    t.equal((await post(signed(five), 'x', { name: 'n'.repeat(204) })).status, 204, '1,024 bytes')
    t.equal((await post(signed(five), 'x', { name: 'n'.repeat(205) })).code, 'KeyTooLongError', '1,029 bytes')
    const many = filename.repeat(2970)
    const name = 'n'.repeat(80_000)
    // KiB: the peak of this process, which is also the server.
    const before = process.resourceUsage().maxRSS
    t.equal((await post({ key: many }, 'x', { name })).code, 'AccessDenied')
    t.equal((await post(signed(many), 'x', { name })).code, 'KeyTooLongError')
    const growth = process.resourceUsage().maxRSS - before
    t.ok(growth < 30 * 1024, `the server needs ${growth} KiB more`)
  })

  await t.test('the response is as the form asks', async t => {
    const asked = (more: Record<string, string>) => send({ fields: { key: 'a&b.txt', ...more } })
    t.equal((await asked({ success_action_status: '200' })).status, 200)
    const created = await asked({ success_action_status: '201' })
    t.equal(created.status, 201)
    t.match(created.text, '<PostResponse')
    t.match(created.text, '<Key>a&amp;b.txt</Key>')
    t.equal((await asked({ success_action_status: '999' })).status, 204)
    const redirected = await asked({ success_action_redirect: 'https://example.org/done?x=1' })
    t.equal(redirected.status, 303)
    const target = new URL(redirected.headers.get('location') ?? '')
    t.equal(target.origin + target.pathname, 'https://example.org/done')
    t.match(Object.fromEntries(target.searchParams), { x: '1', bucket: 'files', key: 'a&b.txt' })
    t.equal((await asked({ success_action_redirect: 'javascript:alert(1)' })).status, 204)
  })

  await t.test('sizes and checksums', async t => {
    const range = (min: unknown, max: unknown) =>
      send({ fields: { key: 'sized.txt' }, conditions: [['content-length-range', min, max]] })
    t.equal((await range(7, 7)).status, 204)
    t.equal((await range(0, 6)).code, 'EntityTooLarge')
    t.equal((await range(8, 10)).code, 'EntityTooSmall')
    t.equal((await range(-1, 10)).code, 'InvalidPolicyDocument')
    t.equal((await range('a', 10)).code, 'InvalidPolicyDocument')
    t.equal(await text('sized.txt'), 'content')
    const sum = (value: string) => send({ fields: { key: 'summed.txt', 'x-amz-checksum-crc32': value } })
    t.equal((await sum('AAAAAA==')).code, 'BadDigest')
    t.notOk((await readdir(root)).includes('summed.txt'))
    const sums = Buffer.alloc(4)
    sums.writeUInt32BE(crc32('content'))
    t.equal((await sum(sums.toString('base64'))).status, 204)
  })

  await t.test('what the policy does not allow is refused', async t => {
    const fields = { key: 'refused.txt' }
    const good = sign({ keys, fields })
    const { Policy: _policy, ...withoutPolicy } = good
    const refusals: Record<string, [string, Promise<{ code: string | undefined }>]> = {
      'another key': ['AccessDenied', post({ ...good, key: 'other.txt' })],
      'another field': ['AccessDenied', post({ ...good, 'x-amz-meta-mtime': '1' })],
      'another bucket in the field': ['InvalidArgument', post({ ...good, bucket: 'other' })],
      'another bucket in the address': ['InvalidArgument', post(good, 'x', { path: '/s3/other-bucket' })],
      'an expired policy': ['AccessDenied', send({ fields, expiresIn: -1000 })],
      'a signature from last week': ['AccessDenied', send({ fields, signedAt: -8 * 24 * 60 * 60_000 })],
      'a signature of tomorrow': ['AccessDenied', send({ fields, signedAt: 24 * 60 * 60_000 })],
      'a policy without expiration': ['InvalidPolicyDocument', send({ fields, policy: { expiration: undefined } })],
      'a policy without conditions': ['InvalidPolicyDocument', send({ fields, policy: { conditions: undefined } })],
      'a policy that is no JSON': ['InvalidPolicyDocument', send({ fields, policy: 'no JSON' })],
      'an unknown condition': ['InvalidPolicyDocument', send({ fields, conditions: [['matches', '$key', 'a']] })],
      'a condition that is a number': ['InvalidPolicyDocument', send({ fields, conditions: [{ acl: 1 }] })],
      'a changed policy': ['SignatureDoesNotMatch', post({ ...good, Policy: `${good.Policy} ` })],
      'another secret': ['SignatureDoesNotMatch', post(sign({ keys: { ...keys, secretAccessKey: 'other' }, fields }))],
      'an unknown key': [
        'InvalidAccessKeyId',
        post(sign({ keys: { ...keys, accessKeyId: 'STW00000000000000000000000000000000' }, fields })),
      ],
      'no policy': ['InvalidArgument', post(withoutPolicy)],
      'no signature': ['AccessDenied', post({ key: 'refused.txt' })],
      'no key': ['InvalidArgument', send({})],
      'no file': ['InvalidArgument', post(good, null)],
      'metadata that would be lost': ['NotImplemented', send({ fields: { ...fields, 'x-amz-meta-color': 'blue' } })],
      'a public object': ['NotImplemented', send({ fields: { ...fields, acl: 'public-read' } })],
      'a long field': ['InvalidArgument', post({ ...good, 'x-ignore-this': 'x'.repeat(70_000) })],
    }
    for (const [what, [code, answering]] of Object.entries(refusals)) t.equal((await answering).code, code, what)
    t.equal((await post({ ...good, 'x-ignore-this': 'x' }, 'x')).status, 204)
    t.same(
      (await readdir(root)).filter(name => /refused|other/.test(name)),
      ['refused.txt'],
    )
  })

  await t.test('two files, and a form that breaks off, store nothing', async t => {
    const boundary = 'b'
    const part = (name: string, value: string, file = '') =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`
    const raw = async (body: string) => {
      const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
      const response = await fetch(`${app.url}/s3/files`, { method: 'POST', headers, body })
      return /<Code>(\w+)</.exec(await response.text())?.[1]
    }
    const fields = Object.entries(sign({ keys, fields: { key: 'twice.txt' } })).map(([name, value]) =>
      part(name, value),
    )
    const file = part('file', 'content', '; filename="f"')
    t.ok(await raw(`${fields.join('')}${file}${file}--${boundary}--\r\n`))
    t.equal(await raw(`${fields.join('')}${file}`), 'IncompleteBody')
    t.equal(await raw('no form at all'), 'IncompleteBody')
    t.equal(await raw(`--${boundary}\r\nContent-Disposition: form-data\r\n\r\nx\r\n${file}`), 'InvalidArgument')
    t.notOk((await readdir(root)).includes('twice.txt'))
    t.equal(await raw(`${fields.join('')}${file}${part('after', 'ignored')}--${boundary}--\r\n`), undefined)
    t.equal(await text('twice.txt'), 'content')
  })

  await t.test('keys in headers, scopes, base paths and revocation', async t => {
    const bearer = { headers: { authorization: `Bearer ${apiKey}` } }
    t.equal((await post({ key: 'by key.txt' }, 'x', bearer)).status, 204)
    const reader = await world.createKey({ scopes: ['read'] })
    t.equal((await post(sign({ keys: reader.s3, fields: { key: 'read.txt' } }))).code, 'AccessDenied')
    const restrictions = [{ providerId: world.providerId, basePath: '/only' }]
    const narrow = await world.createKey({ providerAccess: { restrictions } })
    const inside = (key: string) => post(sign({ keys: narrow.s3, fields: { key } }))
    t.equal((await inside('beside.txt')).code, 'AccessDenied')
    t.equal((await inside('only/this.txt')).status, 204)
    const form = sign({ keys, fields: { key: 'later.txt' } })
    await app.ask('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id }, world.token)
    t.equal((await post(form)).code, 'AccessDenied')
    t.notOk((await readdir(root)).some(name => /^(?:later|read|beside)/.test(name)))
  })
})
