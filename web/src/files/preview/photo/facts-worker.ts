import { parse } from 'exifr'
import { factsOf, type PhotoFacts } from './facts.ts'

addEventListener('message', async ({ data }: MessageEvent<ArrayBuffer>) => {
  const options = { exif: true, gps: true, xmp: false, icc: false, iptc: false, jfif: false }
  // A file that is damaged has no facts.
  const tags: unknown = await parse(data, options).catch(() => null)
  const facts: PhotoFacts | null = typeof tags === 'object' && tags !== null ? factsOf({ ...tags }) : null
  postMessage(facts)
})
