/** Bad input to the front doors: an error in the form of its protocol, nothing stored, and nothing told about what lies outside. */
import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { sql } from 'kysely'
import t from 'tap'
import { head, talk } from '../http/socket.ts'
import { atNight } from '../support/extent.ts'
import { davClient } from '../webdav/client.ts'
import { codeOf, createS3World } from './world.ts'

const mib = 1024 * 1024
const Bucket = 'files'
/** Milliseconds: enough for the largest body of a busy machine. */
const bodyTimeout = 3000

t.test('bad input', async t => {
  const world = await createS3World(t, { bodyTimeout })
  const { app, root } = world
  const { key, s3: keys } = await world.createKey()
  const client = world.client(keys)
  const { port } = new URL(app.url)
  const authorization = `Bearer ${key}`
  const dav = davClient(app, key)

  /** Sends a path as it is: `fetch` would resolve its dot segments. */
  const send = (
    method: string,
    path: string,
    { headers = {}, body = '' }: { headers?: object; body?: string } = {},
  ) => {
    const { promise, resolve, reject } = Promise.withResolvers<{
      status: number
      code: string
      type: string
      text: string
    }>()
    const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const sent = request({ port, path, method, headers: { authorization, ...length, ...headers } }, response => {
      let text = ''
      response.setEncoding('utf8').on('data', chunk => {
        text += chunk
      })
      response.on('error', reject).on('end', () => {
        const code = /<Code>(\w+)</.exec(text)?.[1] ?? ''
        resolve({ status: response.statusCode ?? 0, code, type: response.headers['content-type'] ?? '', text })
      })
    })
    sent.on('error', reject).end(body)
    return promise
  }

  await t.test('XML that is malformed, hostile or too long', async t => {
    const bomb = '<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><Delete><Object><Key>&b;</Key></Object></Delete>'
    const bodies: [body: string, code: string][] = [
      ['', 'MalformedXML'],
      ['<Delete>', 'MalformedXML'],
      ['<Delete/>', 'MalformedXML'],
      ['<Other/>', 'MalformedXML'],
      ['<Delete><Object/></Delete>', 'MalformedXML'],
      [bomb, 'MalformedXML'],
      ['<a>'.repeat(50_000), 'MalformedXML'],
      [`<Delete>${'<Object><Key>a</Key></Object>'.repeat(1001)}</Delete>`, 'MalformedXML'],
      [`<Delete>${' '.repeat(5 * mib)}</Delete>`, 'EntityTooLarge'],
      ['<Delete><Object><Key>a</Key><VersionId>1</VersionId></Object></Delete>', 'InvalidArgument'],
    ]
    for (const [body, code] of bodies) {
      const answer = await send('POST', '/s3/files?delete', { body })
      t.equal(answer.code, code, body.slice(0, 60))
      t.match(answer.type, 'application/xml')
    }
    const wrong = await send('POST', '/s3/files?delete', {
      body: '<Delete><Object><Key>a</Key></Object></Delete>',
      headers: { 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' },
    })
    t.equal(wrong.code, 'BadDigest')
  })

  await atNight(t, 'bodies that never end', async t => {
    const chunked = { Authorization: authorization, 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/xml' }
    const form = { ...chunked, 'Content-Type': 'multipart/form-data; boundary=b' }
    const requests: [method: string, path: string, headers: Record<string, string>, piece: string][] = [
      ['PROPFIND', '/dav/files', chunked, ' '],
      ['POST', '/s3/files?delete', chunked, ' '],
      ['POST', '/s3/files', form, '--b\r\nContent-Disposition: form-data; name="x-ignore-'],
    ]
    await Promise.all(
      requests.map(async ([method, path, headers, piece]) => {
        const client = await talk(Number(port))
        await client.send(head(method, `${app.url}${path}`, headers))
        await client.send(`${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`)
        let isOpen = true
        const ended = client.ended.then(() => {
          isOpen = false
        })
        // One byte at a time keeps the connection busy.
        const dripping = setInterval(() => isOpen && void client.send('1\r\nx\r\n').catch(() => {}), 50)
        await ended
        clearInterval(dripping)
        t.notOk(isOpen, `${method} ${path}`)
      }),
    )
  })

  await t.test('signatures over other headers than were sent', async t => {
    const changed = async (change: (headers: Record<string, string>) => void) => {
      const changing = world.client(keys)
      changing.middlewareStack.add(
        next => async args => {
          change((args.request as { headers: Record<string, string> }).headers)
          return next(args)
        },
        // After the signature.
        { step: 'deserialize', priority: 'low' },
      )
      const Metadata = { mtime: '1614834367' }
      return codeOf(changing.send(new PutObjectCommand({ Bucket, Key: 'signed.txt', Body: 'x', Metadata })))
    }
    t.equal(
      await changed(headers => {
        headers['x-amz-acl'] = 'public-read'
      }),
      'AccessDenied',
    )
    t.equal(
      await changed(headers => {
        headers['x-amz-copy-source'] = '/files/other'
      }),
      'AccessDenied',
    )
    t.equal(
      await changed(headers => {
        headers['x-amz-meta-mtime'] = '1'
      }),
      'SignatureDoesNotMatch',
    )
    t.equal(
      await changed(headers => {
        delete headers['x-amz-meta-mtime']
      }),
      'SignatureDoesNotMatch',
    )
    t.notOk((await readdir(root)).includes('signed.txt'))
  })

  await t.test('keys that are no paths, and keys at the bounds', async t => {
    const long = Array.from({ length: 5 }, () => 'x'.repeat(204)).join('/')
    const refused: [path: string, code: string][] = [
      ['a/../b', 'InvalidArgument'],
      ['../b', 'InvalidArgument'],
      ['a/./b', 'InvalidArgument'],
      ['a//b', 'InvalidArgument'],
      ['/a', 'InvalidArgument'],
      ['a%2F..%2Fb', 'InvalidArgument'],
      ['a%2F%2Fb', 'InvalidArgument'],
      ['%2e%2e', 'InvalidArgument'],
      ['a%00b', 'InvalidArgument'],
      ['a%0d%0ab', 'InvalidArgument'],
      ['a%5Cb', 'InvalidArgument'],
      [`${long}y`.padEnd(1025, 'y'), 'KeyTooLongError'],
      ['x'.repeat(300), 'InvalidArgument'],
    ]
    for (const [path, code] of refused) {
      for (const query of ['', '?uploads']) {
        if (path.length === 300 && query !== '') continue
        const method = query === '' ? 'PUT' : 'POST'
        const answer = await send(method, `/s3/files/${path}${query}`, query === '' ? { body: 'x' } : {})
        t.equal(answer.code, code, `${method} ${path.slice(0, 40)}`)
        t.match(answer.type, 'application/xml')
      }
    }
    const stored = ['trailing ', ' leading', 'dots...', long.padEnd(1024, 'z'), '%25', 'a+b']
    for (const name of stored) {
      const path = `/s3/files/kept/${name}`.split('/').map(encodeURIComponent).join('/')
      if (Buffer.byteLength(`kept/${name}`) > 1024) {
        t.equal((await send('PUT', path, { body: name })).code, 'KeyTooLongError')
        continue
      }
      t.equal((await send('PUT', path, { body: name })).status, 200, name)
      t.equal((await send('GET', path)).text, name)
      t.equal(await readFile(join(root, 'kept', name), 'utf8'), name)
    }
    t.equal((await send('PUT', '/s3/files/kept/a+b', { body: 'x', headers: { 'content-type': '' } })).status, 200)
    const whole = long.padEnd(1024, 'z').split('/').map(encodeURIComponent).join('/')
    t.equal((await send('PUT', `/s3/files/${whole}`, { body: 'whole' })).status, 200)
    for (const name of ['trailing ', ' leading', 'x'.repeat(255)]) {
      const path = `/files/kept/${encodeURIComponent(name)}`
      t.equal((await dav('PUT', path, { body: name })).status, name.length === 255 ? 201 : 204, name)
      t.equal((await dav('GET', path)).text, name)
    }
    const tooLong = await dav('PUT', `/files/kept/${'x'.repeat(256)}`, { body: 'x' })
    t.equal(tooLong.status, 400)
    t.equal(tooLong.reason, 'INVALID_PATH')
    t.same((await readdir(root)).filter(name => !name.startsWith('.')).toSorted(), ['kept', 'x'.repeat(204)])
  })

  await t.test('parts out of bounds', async t => {
    const name = { Bucket, Key: 'parts.bin' }
    const { UploadId = '' } = await client.send(new CreateMultipartUploadCommand(name))
    const part = async (PartNumber: number) => {
      const { ETag } = await client.send(new UploadPartCommand({ ...name, UploadId, PartNumber, Body: 'x' }))
      return { PartNumber, ETag }
    }
    const first = await part(1)
    const last = await part(10_000)
    for (const number of ['0', '10001', '-1', '1.5', '1e3', 'x', '']) {
      const answer = await send('PUT', `/s3/files/parts.bin?uploadId=${UploadId}&partNumber=${number}`, { body: 'x' })
      t.equal(answer.code, 'InvalidArgument', number)
    }
    const complete = (Parts: object[]) =>
      client.send(new CompleteMultipartUploadCommand({ ...name, UploadId, MultipartUpload: { Parts } }))
    const many = Array.from({ length: 10_001 }, (_, at) => ({ ...first, PartNumber: at + 1 }))
    t.equal(await codeOf(complete(many)), 'MalformedXML')
    t.equal(await codeOf(complete([first, first])), 'InvalidPartOrder')
    t.equal(await codeOf(complete([first, { ...last, PartNumber: 10_001 }])), 'InvalidPart')
    t.equal(await codeOf(complete([first, { ...last, PartNumber: 100_000 }])), 'MalformedXML')
    for (const id of ['', 'x', '../x', `${UploadId}x`, '%00']) {
      t.equal((await send('GET', `/s3/files/parts.bin?uploadId=${id}`)).code, 'NoSuchUpload', id)
    }
    await complete([first, last])
    t.equal(await readFile(join(root, 'parts.bin'), 'utf8'), 'xx')
  })

  await t.test('storages of other workspaces', async t => {
    const id = randomUUID()
    await sql`with other as (insert into workspaces (name) values ('other') returning id)
      insert into providers (id, workspace_id, type, name, slug, config, status)
      select ${id}, id, 'memory', 'Theirs', 'their-bucket', '{}', 'CONNECTED' from other`.execute(app.db)
    await client.send(new PutObjectCommand({ Bucket, Key: 'mine.txt', Body: 'mine' }))
    const form =
      '--b\r\nContent-Disposition: form-data; name="key"\r\n\r\nx\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nx\r\n--b--\r\n'
    const calls: [method: string, path: string, options?: { headers?: object; body?: string }][] = [
      ['HEAD', '/s3/BUCKET'],
      ['GET', '/s3/BUCKET'],
      ['GET', '/s3/BUCKET?list-type=2'],
      ['GET', '/s3/BUCKET?location'],
      ['GET', '/s3/BUCKET?uploads'],
      ['GET', '/s3/BUCKET/x'],
      ['PUT', '/s3/BUCKET/x', { body: 'x' }],
      ['PUT', '/s3/files/copied', { headers: { 'x-amz-copy-source': '/BUCKET/x' } }],
      ['PUT', '/s3/BUCKET/copied', { headers: { 'x-amz-copy-source': '/files/mine.txt' } }],
      ['DELETE', '/s3/BUCKET/x'],
      ['POST', '/s3/BUCKET/x?uploads'],
      ['POST', '/s3/BUCKET?delete', { body: '<Delete><Object><Key>x</Key></Object></Delete>' }],
      ['POST', '/s3/BUCKET', { headers: { 'content-type': 'multipart/form-data; boundary=b' }, body: form }],
      ['PROPFIND', '/dav/BUCKET', { headers: { depth: '1' } }],
      ['GET', '/dav/BUCKET/x'],
      ['PUT', '/dav/BUCKET/x', { body: 'x' }],
      ['DELETE', '/dav/BUCKET/x'],
      ['COPY', '/dav/files/mine.txt', { headers: { destination: '/dav/BUCKET/copied' } }],
      ['MOVE', '/dav/BUCKET/x', { headers: { destination: '/dav/files/copied' } }],
    ]
    for (const [method, path, { headers = {}, body = '' } = {}] of calls) {
      const texts = await Promise.all(
        ['no-such-bucket', 'their-bucket', id].map(async bucket => {
          const named = Object.entries(headers).map(([name, value]) => [name, String(value).replace('BUCKET', bucket)])
          const options = { headers: Object.fromEntries(named), body }
          const { status, text, code } = await send(method, path.replace('BUCKET', bucket), options)
          t.equal(status, 404, `${method} ${path}`)
          if (path.startsWith('/s3') && method !== 'HEAD') t.equal(code, 'NoSuchBucket', `${method} ${path}`)
          return text.replace(/<RequestId>[^<]*|<s:request-id>[^<]*/, '')
        }),
      )
      t.equal(new Set(texts).size, 1, `${method} ${path}`)
    }
    t.notOk((await readdir(root)).includes('copied'))
    const creations = ['no-such-bucket', 'their-bucket', id].map(bucket => send('PUT', `/s3/${bucket}`))
    const answers = await Promise.all(creations)
    for (const { status, code } of answers) t.match([status, code], [501, 'NotImplemented'])
    t.equal(new Set(answers.map(({ text }) => text.replace(/<RequestId>[^<]*/, ''))).size, 1)
  })

  t.notMatch(app.logged(), /"level":50/)
})
