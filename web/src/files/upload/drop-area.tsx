import { type DragEvent, type ReactNode, useRef, useState } from 'react'
import { tell } from '../../ui/toasts.tsx'
import { filesOfDrop, type Given } from './dropped-files.ts'

const bringsFiles = (event: DragEvent) => event.dataTransfer.types.includes('Files')

/** Files and folders may be dropped anywhere in it. Whoever has no pointer uses the buttons. */
export function DropArea({
  isDisabled,
  folderName,
  onGiven,
  children,
}: {
  isDisabled: boolean
  folderName: string
  onGiven: (given: Given) => void
  children: ReactNode
}) {
  // Each element on the way is entered before the last one is left.
  const depth = useRef(0)
  const [isOver, setOver] = useState(false)
  if (isDisabled) return children
  const leave = () => {
    depth.current = Math.max(0, depth.current - 1)
    if (depth.current === 0) setOver(false)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons do the same
    <div
      className="drop-area"
      onDragEnter={event => {
        if (!bringsFiles(event)) return
        depth.current += 1
        setOver(true)
      }}
      onDragOver={event => {
        if (bringsFiles(event)) event.preventDefault()
      }}
      onDragLeave={leave}
      onDrop={event => {
        if (!bringsFiles(event)) return
        event.preventDefault()
        depth.current = 0
        setOver(false)
        filesOfDrop(event.dataTransfer).then(onGiven, () => tell('What was dropped could not be read.'))
      }}
    >
      {children}
      {isOver && (
        <div className="drop-sign" aria-hidden="true">
          Drop to upload into {folderName}
        </div>
      )}
    </div>
  )
}
