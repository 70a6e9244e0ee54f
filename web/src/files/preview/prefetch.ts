import { useEffect } from 'react'
import { viewerKind } from './file-types.ts'
import type { ViewedFile } from './viewer.ts'
import { viewers } from './viewers.tsx'

/** Pixels. The viewer of images asks for this size first. */
const renditionPixels = 1024
/** Milliseconds. A person who leafs through the files does not load what they pass. */
const delay = 250

/** Loads the viewers of the files beside the present one, and the images of photos. */
export function usePrefetch(files: readonly (ViewedFile | undefined)[]): void {
  const wanted = files.flatMap(file => (file ? [{ file, kind: viewerKind(file) }] : []))
  const key = wanted.map(({ file }) => file.id).join('\0')
  // biome-ignore lint/correctness/useExhaustiveDependencies: the ids stand for the files
  useEffect(() => {
    const images: HTMLImageElement[] = []
    const timer = setTimeout(() => {
      for (const { file, kind } of wanted) {
        // The viewer reports a failure when it is shown.
        if (kind !== null) viewers[kind].load().catch(() => {})
        const address = kind === 'image' ? file.picture(renditionPixels) : null
        if (address === null) continue
        const image = new Image()
        image.src = address
        images.push(image)
      }
    }, delay)
    return () => {
      clearTimeout(timer)
      // A request that has not ended would hold back those for the file that is shown.
      for (const image of images) if (!image.complete) image.removeAttribute('src')
    }
  }, [key])
}
