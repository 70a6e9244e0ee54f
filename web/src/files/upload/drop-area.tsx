import { type DragEvent, type ReactNode, useRef, useState } from 'react'
import { texts } from '../../texts/files.tsx'
import { notify } from '../../ui/toasts.tsx'
import { type FileSelection, filesOfDrop } from './dropped-files.ts'

const hasFiles = (event: DragEvent) => event.dataTransfer.types.includes('Files')

/** Accepts files and folders that are dropped anywhere inside. The upload buttons do the same without a pointer. */
export function DropArea({
  isDisabled,
  folderName,
  onFiles,
  children,
}: {
  isDisabled: boolean
  folderName: string
  onFiles: (files: FileSelection) => void
  children: ReactNode
}) {
  // Browsers report that the next element is entered before the previous one is left, so the depth is counted.
  const depth = useRef(0)
  const [isOver, setOver] = useState(false)
  const leave = () => {
    depth.current = Math.max(0, depth.current - 1)
    if (depth.current === 0) setOver(false)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the upload buttons do the same
    <div
      className="drop-area"
      onDragEnter={event => {
        if (isDisabled || !hasFiles(event)) return
        depth.current += 1
        setOver(true)
      }}
      onDragOver={event => {
        if (!isDisabled && hasFiles(event)) event.preventDefault()
      }}
      onDragLeave={leave}
      onDrop={event => {
        if (isDisabled || !hasFiles(event)) return
        event.preventDefault()
        depth.current = 0
        setOver(false)
        filesOfDrop(event.dataTransfer).then(onFiles, () => notify(texts.dropFailed))
      }}
    >
      {children}
      {isOver && (
        <div className="drop-sign" aria-hidden="true">
          {texts.dropInto(folderName)}
        </div>
      )}
    </div>
  )
}
