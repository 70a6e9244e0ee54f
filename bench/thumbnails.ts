import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { Limiter } from '../src/lib/limiter.ts'
import { install } from './installation.ts'
import type { Part } from './part.ts'
import { interleave } from './rounds.ts'

const photos = 100
const pixels = 256
/** As the console asks. */
const atOnce = 8

/** Noise compresses like a detailed photo: a file has about 5 MB. */
async function makePhotos(folder: string): Promise<string[]> {
  await mkdir(folder, { recursive: true })
  const noise = { type: 'gaussian', mean: 128, sigma: 20 } as const
  const photo = await sharp({ create: { width: 4000, height: 3000, channels: 3, background: '#888', noise } })
    .jpeg({ quality: 85 })
    .toBuffer()
  const names = Array.from({ length: photos }, (_, n) => `${n}.jpg`)
  await Promise.all(names.map(name => writeFile(join(folder, name), photo)))
  return names
}

export const thumbnails: Part = {
  title: 'Thumbnails',
  about: `${photos} JPEG photos of 12 megapixels on a local disk, ${pixels} pixels, ${atOnce} at once, none of them in the cache: over HTTP from Stowage,
and with sharp in one process that reads the files itself.`,
  async measure({ rounds, say }) {
    await using stack = new AsyncDisposableStack()
    const installation = stack.use(await install())
    const { files, stowage, providerId, key } = installation
    say(`  makes ${photos} photos for each round`)
    let turn = 0
    async function fromStowage(): Promise<number> {
      turn += 1
      const folder = `round-${turn}`
      const names = await makePhotos(join(files, folder))
      return rate(names, async name => {
        const query = new URLSearchParams({ providerId, path: `/${folder}/${name}`, size: String(pixels) })
        const response = await fetch(`${stowage.url}/api/thumbnail?${query}`, {
          headers: { authorization: `Bearer ${key}` },
        })
        if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
        await response.arrayBuffer()
      })
    }
    const own = join(installation.folder, 'sharp')
    const names = await makePhotos(own)
    sharp.concurrency(availableParallelism())
    const alone = () =>
      rate(names, async name => {
        const bytes = await readFile(join(own, name))
        await sharp(bytes)
          .autoOrient()
          .resize({ width: pixels, height: pixels, fit: 'inside' })
          .webp({ quality: 78, effort: 2 })
          .toBuffer()
      })
    const figures = await interleave(rounds, { sharp: alone, stowage: fromStowage })
    const against = { what: 'sharp alone', figures: figures.sharp ?? [] }
    return [
      { what: 'sharp alone', figures: figures.sharp ?? [], unit: 'images/s' },
      { what: 'Stowage', figures: figures.stowage ?? [], unit: 'images/s', against },
    ]
  },
}

async function rate(names: readonly string[], make: (name: string) => Promise<void>): Promise<number> {
  const limiter = new Limiter(atOnce)
  const begin = performance.now()
  await Promise.all(names.map(name => limiter.run(() => make(name))))
  return names.length / ((performance.now() - begin) / 1000)
}
