import { useState } from 'react'
import { common } from '../../../texts/common.ts'
import { texts } from '../../../texts/viewers.ts'
import { ErrorBox } from '../../../ui/error-box.tsx'
import { Loading } from '../../../ui/loading.tsx'
import { FileCard } from '../file-card.tsx'
import { useLink, type ViewerProps } from '../viewer.ts'
import './video.css'

/** Pixels. */
const posterPixels = 1024

/** Plays a video in its original quality. Seeking sends range requests to the server. */
export function VideoViewer({ file, onDownload }: ViewerProps) {
  const { data: link, error, refetch } = useLink(file)
  const [poster] = useState(() => file.picture(posterPixels))
  const [hasFailed, setFailed] = useState(false)
  if (hasFailed) return <FileCard file={file} note={texts.mediaFailed} onDownload={onDownload} />
  if (error) return <ErrorBox error={error} retry={refetch} />
  if (link === undefined) return <Loading label={common.loading} />
  return (
    <video
      key={link}
      src={link}
      {...(poster !== null && { poster })}
      aria-label={file.name}
      controls
      playsInline
      preload="metadata"
      onError={() => setFailed(true)}
    />
  )
}
