/** Makes real media files with independent programs, and reads images back. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import sharp, { type Sharp } from 'sharp'
import type { Test } from 'tap'
import { requirePrograms } from '../servers/programs.ts'
import { temporaryFolder } from './program.ts'

const run = promisify(execFile)

/** An image whose left half is red and whose right half is blue, so that tests see what a thumbnail shows. */
export function twoColors(width: number, height: number): Sharp {
  const right = { width: Math.floor(width / 2), height, channels: 3, background: '#0000ff' } as const
  return sharp({ create: { width, height, channels: 3, background: '#ff0000' } }).composite([
    { input: { create: right }, left: Math.ceil(width / 2), top: 0 },
  ])
}

/** The size of an image, and the colors in the middle of its left and right half, rounded to hexadecimal digits: "f00". */
export async function look(
  image: Uint8Array,
): Promise<{ format: string; width: number; height: number; colors: string[] }> {
  const { format, width, height } = await sharp(image).metadata()
  const { data, info } = await sharp(image).removeAlpha().raw().toBuffer({ resolveWithObject: true })
  const colorAt = (part: number) => {
    const at = (Math.floor(info.height / 2) * info.width + Math.floor(info.width * part)) * info.channels
    return [...data.subarray(at, at + 3)].map(value => Math.round(value / 17).toString(16)).join('')
  }
  return { format: format ?? '', width, height, colors: [colorAt(0.25), colorAt(0.75)] }
}

/** A RAW file as cameras write it: a TIFF file with a small preview in its first directory, and a large one in a sub-directory. */
export function rawPhoto(small: Buffer, large: Buffer): Buffer {
  const tag = (id: number, type: number, value: number) => {
    const bytes = Buffer.alloc(12)
    bytes.writeUInt16LE(id, 0)
    bytes.writeUInt16LE(type, 2)
    bytes.writeUInt32LE(1, 4)
    bytes.writeUInt32LE(value, 8)
    return bytes
  }
  const directory = (tags: Buffer[]) => {
    const count = Buffer.alloc(2)
    count.writeUInt16LE(tags.length)
    return Buffer.concat([count, ...tags, Buffer.alloc(4)])
  }
  const bytesOf = (tags: number) => 2 + tags * 12 + 4
  const header = Buffer.from([0x49, 0x49, 42, 0, 8, 0, 0, 0])
  const second = 8 + bytesOf(3)
  const smallAt = second + bytesOf(3)
  // The raw data of the sensor lies before the large preview, far from the beginning.
  const largeAt = smallAt + small.length + 3_000_000
  const first = directory([tag(0x14a, 4, second), tag(0x201, 4, smallAt), tag(0x202, 4, small.length)])
  const sub = directory([tag(0x103, 3, 7), tag(0x111, 4, largeAt), tag(0x117, 4, large.length)])
  return Buffer.concat([header, first, sub, small, Buffer.alloc(3_000_000, 0x5a), large, Buffer.alloc(1_000_000)])
}

/** An MP3 file with a cover: an ID3v2.3 tag (id3.org) and some silent frames. */
export function songWithCover(cover: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from('\0image/png\0\x03\0', 'latin1'), cover])
  const frame = Buffer.alloc(10)
  frame.write('APIC')
  frame.writeUInt32BE(body.length, 4)
  const size = 10 + body.length
  const tag = Buffer.from([
    0x49,
    0x44,
    0x33,
    3,
    0,
    0,
    (size >> 21) & 127,
    (size >> 14) & 127,
    (size >> 7) & 127,
    size & 127,
  ])
  const silent = Buffer.alloc(417)
  silent.writeUInt32BE(0xfffb9064)
  return Buffer.concat([tag, frame, body, ...Array.from({ length: 20 }, () => silent)])
}

/** A PDF document of one page, whose left half is red and whose right half is blue. */
export function pdfPage(): Buffer {
  const content = '1 0 0 rg 0 0 300 400 re f 0 0 1 rg 300 0 300 400 re f'
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 400]/Contents 4 0 R>>',
    `<</Length ${content.length}>>stream\n${content}\nendstream`,
  ]
  let text = '%PDF-1.4\n'
  const offsets = objects.map((object, index) => {
    const at = text.length
    text += `${index + 1} 0 obj${object}endobj\n`
    return at
  })
  const table = offsets.map(at => `${String(at).padStart(10, '0')} 00000 n \n`).join('')
  text += `xref\n0 5\n0000000000 65535 f \n${table}trailer<</Size 5/Root 1 0 R>>\nstartxref\n${text.length}\n%%EOF`
  return Buffer.from(text, 'latin1')
}

/** Makes the files that need an encoder of their own: a HEIC photo, and videos with the index at the end and at the beginning. */
export async function encodedMedia(t: Test): Promise<{ heic: Buffer; video: Buffer; streamed: Buffer }> {
  await requirePrograms({
    who: 'The tests of thumbnails',
    programs: ['heif-enc', 'ffmpeg'],
    packages: ['libheif-examples', 'ffmpeg'],
    instead: 'put heif-enc and ffmpeg on PATH',
  })
  const folder = await temporaryFolder(t)
  const [picture, heic, video, streamed] = ['a.png', 'a.heic', 'a.mp4', 'b.mp4'].map(name => join(folder, name))
  if (!picture || !heic || !video || !streamed) throw new Error('no paths')
  await twoColors(640, 480).png().toFile(picture)
  await run('heif-enc', ['-q', '90', '-o', heic, picture])
  const encode = ['-v', 'error', '-loop', '1', '-i', picture, '-t', '2', '-pix_fmt', 'yuv420p']
  await run('ffmpeg', [...encode, video])
  await run('ffmpeg', [...encode, '-movflags', '+faststart', streamed])
  return { heic: await readFile(heic), video: await readFile(video), streamed: await readFile(streamed) }
}
