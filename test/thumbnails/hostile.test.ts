/** Files made to harm a decoder cost nothing but their own failure, and decoder processes stay within their bounds. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { deflateSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import { type DecoderBounds, Undecodable } from '../../src/services/decoding/processes.ts'
import type { ThumbnailTask } from '../../src/services/thumbnails/decoder/protocol.ts'
import { createDecoders } from '../../src/services/thumbnails/decoders.ts'
import { startApp } from '../support/app.ts'
import { extent, isNight } from '../support/extent.ts'
import { encodedMedia, look, pdfPage, rawPhoto, songWithCover, twoColors } from '../support/media.ts'
import { childrenWith } from '../support/process-tree.ts'
import { until } from '../support/until.ts'

const task: ThumbnailTask = { decoder: 'image', size: null, pixels: 256, format: 'webp', ffmpeg: null }

function crc32(bytes: Buffer): number {
  let crc = ~0
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return ~crc >>> 0
}

/** A PNG file whose header claims any size, with little data. */
function png(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(data.length)
    const body = Buffer.concat([Buffer.from(type), data])
    const crc = Buffer.alloc(4)
    crc.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, crc])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width)
  header.writeUInt32BE(height, 4)
  header[8] = 8
  header[9] = 2
  const data = deflateSync(Buffer.alloc(1_000_000))
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** A TIFF file whose directories name each other without an end. */
function endlessRaw(): Buffer {
  const bytes = Buffer.alloc(1024)
  bytes.write('II')
  bytes.writeUInt16LE(42, 2)
  bytes.writeUInt32LE(8, 4)
  bytes.writeUInt16LE(1, 8)
  bytes.writeUInt16LE(0x14a, 10)
  bytes.writeUInt16LE(4, 12)
  bytes.writeUInt32LE(0xffffffff, 14)
  bytes.writeUInt32LE(8, 18)
  bytes.writeUInt32LE(8, 22)
  return bytes
}

const laughs = `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a "ha">${Array.from({ length: 9 }, (_, n) => {
  const last = String.fromCharCode(97 + n)
  return `<!ENTITY ${String.fromCharCode(98 + n)} "${`&${last};`.repeat(10)}">`
}).join('')}]><svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><text>&j;</text></svg>`

t.test('hostile files', async t => {
  const app = await startApp(t)
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'local', { root: app.folder }, 'Disk')
  const get = async (name: string, bytes: Uint8Array | string) => {
    await writeFile(join(app.folder, name), bytes)
    return app.request(`/api/thumbnail?${new URLSearchParams({ providerId, path: `/${name}` })}`, { token })
  }

  const harmful: Record<string, Uint8Array | string> = {
    'huge.png': png(60_000, 60_000),
    'truncated.png': png(8000, 8000),
    'laughs.svg': laughs,
    'nested.svg': `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${'<g>'.repeat(200_000)}`,
    'wide.svg':
      '<svg xmlns="http://www.w3.org/2000/svg" width="4000000" height="4000000"><rect width="9" height="9"/></svg>',
    'endless.dng': endlessRaw(),
    'short.dng': rawPhoto(Buffer.from('no picture'), Buffer.from('cut')).subarray(0, 1000),
    'playlist.mp4': '#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n/etc/passwd\n#EXT-X-ENDLIST\n',
    'box.mp4': Buffer.from('0000000166747970ffffffffffffffff', 'hex'),
    'encrypted.pdf': pdfPage()
      .toString('latin1')
      .replace('/Root 1 0 R', '/Root 1 0 R/Encrypt<</Filter/Standard/V 5/R 6>>'),
    'loop.pdf': pdfPage().toString('latin1').replace('/Kids[3 0 R]', '/Kids[2 0 R]'),
    'tag.mp3': Buffer.from('49443303000000007f7f7f7f41504943', 'hex'),
    'boxes.heic': Buffer.concat([Buffer.from('00000018667479706865696300000000', 'hex'), Buffer.alloc(100_000, 0xff)]),
  }
  for (const [name, bytes] of Object.entries(harmful)) {
    const started = performance.now()
    const response = await get(name, bytes)
    t.equal(response.status, 404, name)
    t.ok(performance.now() - started < 60_000, `${name} ends in time`)
  }

  t.test('an SVG image shows no other file, and runs no script', async t => {
    const secret = join(app.folder, 'secret.png')
    await twoColors(100, 100).png().toFile(secret)
    for (const reference of [secret, `file://${secret}`, 'secret.png', `${app.url}/healthz`]) {
      const response = await get(
        'reference.svg',
        `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="100" height="100"><rect width="100" height="100" fill="#0f0"/><image href="${reference}" xlink:href="${reference}" width="100" height="100"/><script>document.documentElement.remove()</script></svg>`,
      )
      const { colors } = await look(new Uint8Array(await response.arrayBuffer()))
      t.same(colors, ['0f0', '0f0'], reference)
    }
    const included = `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg xmlns="http://www.w3.org/2000/svg" width="900" height="100"><text y="50">&x;</text></svg>`
    const response = await get('entity.svg', included)
    if (response.status === 200) {
      const { colors } = await look(new Uint8Array(await response.arrayBuffer()))
      t.same(colors, ['000', '000'], 'nothing is drawn')
    } else t.equal(response.status, 404)
  })

  t.test('damaged files of each kind give an image or NO_THUMBNAIL', async t => {
    const encoded = isNight ? await encodedMedia(t) : null
    const cover = await twoColors(50, 50).png().toBuffer()
    const picture = await twoColors(200, 100).jpeg().toBuffer()
    const samples: [string, Buffer][] = [
      ['f.jpg', picture],
      ['f.png', cover],
      ['f.gif', await twoColors(60, 40).gif().toBuffer()],
      ['f.webp', await twoColors(60, 40).webp().toBuffer()],
      ['f.avif', await twoColors(60, 40).avif().toBuffer()],
      ['f.tiff', await twoColors(60, 40).tiff().toBuffer()],
      ['f.pdf', pdfPage()],
      ['f.dng', rawPhoto(cover, picture)],
      ['f.mp3', songWithCover(cover)],
      ...(encoded
        ? ([
            ['f.heic', encoded.heic],
            ['f.mp4', encoded.video],
          ] as [string, Buffer][])
        : []),
    ]
    const damage = fc.record({
      sample: fc.constantFrom(...samples),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      bytes: fc.uint8Array({ minLength: 1, maxLength: 64 }),
      length: fc.double({ min: 0.1, max: 1, noNaN: true }),
    })
    await fc.assert(
      fc.asyncProperty(damage, async ({ sample: [name, bytes], at, bytes: other, length }) => {
        const damaged = Buffer.from(bytes.subarray(0, Math.ceil(bytes.length * length)))
        damaged.set(other.subarray(0, damaged.length), Math.floor(at * Math.max(0, damaged.length - other.length)))
        const { status } = await get(name, damaged)
        return status === 200 || status === 404
      }),
      { seed: 7, numRuns: extent({ gate: 10, nightly: 2000 }) },
    )
  })

  t.equal((await app.request('/healthz')).status, 200)
  t.equal((await get('good.png', await twoColors(50, 50).png().toBuffer())).status, 200, 'decoders go on')
})

/** Returns the ids of the decoder processes that this process started. */
const decoderProcesses = () => childrenWith('decoder/process')

t.test('bounds of a decoder process', async t => {
  const picture = await twoColors(3000, 2000).png().toBuffer()
  const read = async function* () {
    yield picture
  }
  const bounds = { workTime: 10_000, memory: 1024 ** 3, read: 1024 ** 3, idle: 60_000 }
  const signal = AbortSignal.timeout(60_000)
  const of = (more: Partial<DecoderBounds>) => {
    const decoders = createDecoders({ ...bounds, ...more })
    t.teardown(() => decoders.close())
    return decoders
  }
  const isGone = () => until(async () => (await decoderProcesses()).length === 0)

  await t.rejects(of({ workTime: 1 }).run(task, read, signal), Undecodable, 'time')
  await isGone()
  await t.rejects(of({ memory: 1 }).run(task, read, signal), Undecodable, 'memory')
  await isGone()
  await t.rejects(of({ read: 1000 }).run(task, read, signal), Undecodable, 'bytes of the original')
  const failing = new Readable({
    read() {
      this.destroy(new Error('the back end is down'))
    },
  })
  await t.rejects(
    of({}).run(task, () => failing, signal),
    { message: 'the back end is down' },
    'a failure of the back end is not one of the file',
  )
  const gone = new AbortController()
  const ending = of({ endsWithSignal: true })
  const leave = async function* () {
    gone.abort(new Error('the client is gone'))
    yield picture
  }
  await t.rejects(ending.run(task, leave, gone.signal), { message: 'the client is gone' }, 'the signal')
  t.ok((await ending.run(task, read, signal)).length > 0, 'the next file gets no process that was just killed')
  const decoders = of({})
  t.ok((await decoders.run(task, read, signal)).length > 0)
  const before = await decoderProcesses()
  t.ok((await decoders.run(task, read, signal)).length > 0)
  t.same(await decoderProcesses(), before, 'a process makes one thumbnail after the other')
})
