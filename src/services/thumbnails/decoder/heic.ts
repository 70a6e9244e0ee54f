/** HEIC and HEIF, which phones write. Their codec, HEVC, is not part of the image library. */

import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Original, readWhole } from '../../decoding/original.ts'
import { maxPixels, type Picture } from './protocol.ts'

interface HeifImage {
  get_width(): number
  get_height(): number
  display(into: HeifPixels, done: (pixels: HeifPixels | null) => void): void
  free(): void
}
interface HeifPixels {
  data: Uint8ClampedArray
  width: number
  height: number
}
interface Libheif {
  HeifDecoder: new () => { decode(file: Uint8Array): HeifImage[] }
}

const require = createRequire(import.meta.url)
let loading: Promise<Libheif> | undefined

/** The package finds its WebAssembly by the current folder, so it is read here. */
async function load(): Promise<Libheif> {
  const folder = join(dirname(require.resolve('libheif-js/package.json')), 'libheif-wasm')
  const wasmBinary = await readFile(join(folder, 'libheif.wasm'))
  return require(join(folder, 'libheif.js'))({ wasmBinary })
}

/** Returns the primary image. @throws Error if it cannot be decoded */
export async function decodeHeic(original: Original): Promise<Picture> {
  const bytes = await readWhole(original)
  loading ??= load()
  const [image, ...others] = new (await loading).HeifDecoder().decode(bytes)
  if (!image) throw new Error('The file has no image.')
  try {
    const width = image.get_width()
    const height = image.get_height()
    if (width * height > maxPixels) throw new Error('The image is too large.')
    const pixels = await new Promise<HeifPixels | null>(resolve =>
      image.display({ data: new Uint8ClampedArray(width * height * 4), width, height }, resolve),
    )
    if (!pixels) throw new Error('The image is damaged.')
    return { width, height, rgba: new Uint8Array(pixels.data.buffer) }
  } finally {
    for (const each of [image, ...others]) each.free()
  }
}
