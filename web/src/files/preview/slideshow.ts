import { useEffect, useEffectEvent, useMemo, useState } from 'react'
import { viewerKind } from './file-types.ts'
import type { NamedFile } from './viewer.ts'

/** Milliseconds for each image. */
const showTime = 4000

const isImage = (file: NamedFile) => viewerKind(file) === 'image'

/** Shows one image after the other, and begins again after the last one. */
export function useSlideshow({
  files,
  file,
  onShow,
}: {
  files: readonly NamedFile[]
  file: NamedFile
  onShow: (name: string) => void
}) {
  const [isRunning, setRunning] = useState(false)
  const isOnImage = isImage(file)
  const images = useMemo(() => (isOnImage ? files.filter(isImage) : []), [files, isOnImage])
  const showNext = useEffectEvent(() => {
    const at = images.findIndex(({ name }) => name === file.name)
    const next = images[(at + 1) % images.length]
    if (next) onShow(next.name)
  })
  const { name } = file
  // biome-ignore lint/correctness/useExhaustiveDependencies: each image has its own time
  useEffect(() => {
    if (!isRunning) return
    const timer = setTimeout(() => showNext(), showTime)
    return () => clearTimeout(timer)
  }, [isRunning, name])
  return {
    isPossible: isOnImage && images.length > 1,
    isRunning: isRunning && isOnImage,
    toggle: () => setRunning(!isRunning),
  }
}
