import { useEffect, useEffectEvent, useState } from 'react'
import type { Entry } from '../operations.ts'
import { previewKind } from './file-types.ts'

/** Milliseconds for each image. */
const showTime = 4000

/** Shows one image after the other, and begins again after the last one. */
export function useSlideshow({
  files,
  entry,
  onShow,
}: {
  files: readonly Entry[]
  entry: Entry
  onShow: (name: string) => void
}) {
  const [isRunning, setRunning] = useState(false)
  const isImage = previewKind(entry) === 'image'
  const images = files.filter(file => previewKind(file) === 'image')
  const showNext = useEffectEvent(() => {
    const at = images.findIndex(({ name }) => name === entry.name)
    const next = images[(at + 1) % images.length]
    if (next) onShow(next.name)
  })
  const { name } = entry
  // biome-ignore lint/correctness/useExhaustiveDependencies: each image has its own time
  useEffect(() => {
    if (!isRunning) return
    const timer = setTimeout(() => showNext(), showTime)
    return () => clearTimeout(timer)
  }, [isRunning, name])
  return {
    isPossible: isImage && images.length > 1,
    isRunning: isRunning && isImage,
    toggle: () => setRunning(!isRunning),
  }
}
