/** Compares two texts beside the page, which they never stop. */
import { diffTexts } from './diff.ts'

self.addEventListener('message', ({ data: [older, newer] }: MessageEvent<[older: string, newer: string]>) => {
  self.postMessage(diffTexts(older, newer))
})
