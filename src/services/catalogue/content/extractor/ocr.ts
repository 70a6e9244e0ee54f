/** The text in pictures, which the program tesseract recognizes. */
import sharp, { type Sharp } from 'sharp'
import { type Original, readWhole } from '../../../decoding/original.ts'
import { runProgram } from '../../../decoding/programs.ts'
import { type ExtractTask, maxContent } from './protocol.ts'

/** Pixels of an image that is decoded, which bounds memory. */
const maxPixels = 100_000_000
/** Pixels of the longer side of the image that tesseract gets. */
const maxSide = 4000
/** Pixels of the longer side of an icon, which has no text. */
const minSide = 100
/** Kilobytes of the address space of tesseract. */
const maxMemory = 1024 * 1024
/** The languages that are recognized at once. Each one takes its time. */
const maxLanguages = 4

/** A page as pixels with four bytes each: red, green, blue, alpha. */
interface PagePixels {
  width: number
  height: number
  rgba: Uint8Array
}

type Recognize = (picture: Uint8Array | PagePixels) => Promise<string>

/** @throws Error if the image is damaged or too large, or tesseract is missing */
export async function readImage(original: Original, { maxBytes, tesseract }: ExtractTask): Promise<string> {
  if (tesseract === null) throw new Error('The program tesseract is missing.')
  const bytes = await readWhole(original, maxBytes)
  const { width, height } = await sharp(bytes, { limitInputPixels: maxPixels }).metadata()
  if (Math.max(width, height) < minSide) return ''
  return (await recognizeWith(tesseract))(bytes)
}

/** Returns a function that recognizes the languages that are installed. */
export async function recognizeWith(tesseract: string): Promise<Recognize> {
  const run = (parameters: string[], input?: Uint8Array) =>
    runProgram('/bin/sh', ['-c', `ulimit -v ${maxMemory}; exec "$0" "$@"`, tesseract, ...parameters], {
      maxOutput: 4 * maxContent,
      env: { OMP_THREAD_LIMIT: '1' },
      ...(input && { input }),
    })
  const listed = (await run(['--list-langs'])).toString().split('\n').slice(1)
  const languages = listed.map(each => each.trim()).filter(each => /^[a-z]{3}(?:_\w+)?$/.test(each) && each !== 'osd')
  return async picture => {
    const prepared = open(picture)
      .greyscale()
      .resize({ width: maxSide, height: maxSide, fit: 'inside', withoutEnlargement: true })
    const found = await run(
      ['stdin', 'stdout', '-l', languages.slice(0, maxLanguages).join('+') || 'eng'],
      await prepared.png({ compressionLevel: 1 }).toBuffer(),
    )
    return found.toString()
  }
}

function open(picture: Uint8Array | PagePixels): Sharp {
  if (picture instanceof Uint8Array)
    return sharp(picture, { limitInputPixels: maxPixels, failOn: 'error' }).autoOrient()
  const { width, height, rgba } = picture
  return sharp(rgba, { raw: { width, height, channels: 4 } })
}
