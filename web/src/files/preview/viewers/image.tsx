import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import { texts } from '../../../texts/viewers.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorBox } from '../../../ui/error-box.tsx'
import { Icon } from '../../../ui/icons.tsx'
import { FileCard } from '../file-card.tsx'
import { useLink, type ViewedFile, type ViewerProps } from '../viewer.ts'
import { step, useZoom } from './zoom.ts'
import './image.css'

/** Pixels of the longer side of the image that the server makes. */
const renditionPixels = 1024
/** Pixels of the screen up to which that image looks as sharp as the file. */
const sharpPixels = 1280
/** Bytes. A file of this size arrives as soon as the image of the server. */
const smallFile = 256 * 1024
/** The types that all browsers show. The server makes images of the others. */
const shownTypes = /^image\/(?:jpeg|png|gif|webp|avif|bmp|x-icon|vnd\.microsoft\.icon)\b/

/**
 * Shows an image that can be scaled. The image that the server makes comes first, and the file itself where more of it is visible.
 */
export function ImageViewer({ file, onDownload }: ViewerProps) {
  const frame = useRef<HTMLDivElement>(null)
  const { zoom, isZoomed, canGrow, scaleBy, fit, gestures } = useZoom(frame)
  const { source, isRendition, hasFailed, error, refetch, onFailed } = useSource(file, frame, isZoomed)
  const [isReduced, setReduced] = useState(false)
  const percent = texts.percent(Math.round(zoom.scale * 100))
  if (hasFailed) return <FileCard file={file} note={texts.mediaFailed} onDownload={onDownload} />
  return (
    <div className="image-view">
      {error && <ErrorBox error={error} retry={refetch} />}
      <div
        ref={frame}
        className={`image-frame${isZoomed ? ' zoomed' : ''}`}
        data-pans={isZoomed ? '' : undefined}
        {...gestures}
      >
        {source !== null && (
          <img
            src={source}
            alt={file.name}
            draggable={false}
            className={isRendition && isReduced ? 'reduced' : ''}
            style={{ transform: `translate(${zoom.x}px, ${zoom.y}px) scale(${zoom.scale})` }}
            onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
              setReduced(Math.max(naturalWidth, naturalHeight) >= renditionPixels)
            }
            onError={onFailed}
          />
        )}
      </div>
      <div className="zoom-bar" role="toolbar" aria-label={texts.zoom}>
        <Button variant="quiet" aria-label={texts.zoomOut} isDisabled={!isZoomed} onPress={() => scaleBy(1 / step)}>
          <Icon name="minus" />
        </Button>
        <Button variant="quiet" aria-label={texts.zoomFit(percent)} isDisabled={!isZoomed} onPress={fit}>
          {percent}
        </Button>
        <Button variant="quiet" aria-label={texts.zoomIn} isDisabled={!canGrow} onPress={() => scaleBy(step)}>
          <Icon name="plus" />
        </Button>
      </div>
    </div>
  )
}

/** Returns the address that is shown now: first that of the server's image, and then that of the file where it is needed. */
function useSource(file: ViewedFile, frame: { current: HTMLElement | null }, isZoomed: boolean) {
  // An address of its own for each reading of the folder would load the image again.
  const [rendition] = useState(() => file.picture(renditionPixels))
  const type = file.mimeType ?? ''
  const isShown = shownTypes.test(type)
  const [isRenditionGone, setRenditionGone] = useState(false)
  const [hasFailed, setFailed] = useState(false)
  const [isLarge, setLarge] = useState(false)
  const [loaded, setLoaded] = useState<string | null>(null)
  useLayoutEffect(() => {
    const { clientWidth = 0, clientHeight = 0 } = frame.current ?? {}
    setLarge(Math.max(clientWidth, clientHeight) * devicePixelRatio > sharpPixels)
  }, [frame])
  const usesRendition = rendition !== null && !isRenditionGone
  // The image of the server does not move.
  const isSmall = type === 'image/gif' || (file.size !== null && file.size <= smallFile)
  const wantsFile = isShown && (!usesRendition || isSmall || isLarge || isZoomed)
  const { data: link, error, refetch } = useLink(file, wantsFile)
  useEffect(() => {
    if (link === undefined) return
    const image = new Image()
    let isGone = false
    image.src = link
    image.decode().then(
      () => {
        if (!isGone) setLoaded(link)
      },
      () => {
        if (!isGone) setFailed(true)
      },
    )
    return () => {
      isGone = true
      image.removeAttribute('src')
    }
  }, [link])
  const isMissing = !usesRendition && !isShown
  return {
    source: loaded ?? (usesRendition ? rendition : null),
    isRendition: loaded === null,
    hasFailed: isMissing || (hasFailed && !usesRendition),
    error: usesRendition ? null : error,
    refetch,
    onFailed: () => setRenditionGone(true),
  }
}
