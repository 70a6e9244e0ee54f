/** Makes the thumbnail of an original: a decoder finds or makes a picture, and `render` makes it small. */
import sharp, { type Sharp } from 'sharp'
import { type Original, readWhole } from '../../decoding/original.ts'
import { type DecoderName, maxPixels, type Picture, type ThumbnailTask } from './protocol.ts'

type Decoder = (original: Original, task: ThumbnailTask) => Promise<Picture>

/** Loads a decoder when the first file needs it. */
const decoders: Record<DecoderName, () => Promise<Decoder>> = {
  image: async () => original => readWhole(original),
  heic: async () => (await import('./heic.ts')).decodeHeic,
  pdf: async () => (await import('./pdf.ts')).renderPage,
  raw: async () => (await import('./raw.ts')).readPreview,
  audio: async () => (await import('./audio.ts')).readCover,
  video: async () => (await import('./video.ts')).grabFrame,
}

// A process makes one thumbnail at a time, and several processes share the machine.
sharp.concurrency(1)
sharp.cache(false)

/** @throws ReadCanceled; any other error if the file has no thumbnail */
export async function decode(original: Original, task: ThumbnailTask): Promise<Uint8Array> {
  const read = await decoders[task.decoder]()
  return await render(open(await read(original, task)), task)
}

function open(picture: Picture): Sharp {
  const limits = { limitInputPixels: maxPixels, sequentialRead: true, failOn: 'error' } as const
  if (picture instanceof Uint8Array) return sharp(picture, limits)
  const { width, height, rgba } = picture
  return sharp(rgba, { ...limits, raw: { width, height, channels: 4 } })
}

/** Turns the image as its EXIF orientation says, and removes all metadata, such as the place where it was taken. */
function render(image: Sharp, { pixels, format }: ThumbnailTask): Promise<Uint8Array> {
  const thumbnail = image
    .autoOrient()
    .resize({ width: pixels, height: pixels, fit: 'inside', withoutEnlargement: true })
  return (
    format === 'avif' ? thumbnail.avif({ quality: 55, effort: 2 }) : thumbnail.webp({ quality: 78, effort: 2 })
  ).toBuffer()
}
