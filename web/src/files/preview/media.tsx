import { type PointerEvent, useEffect, useEffectEvent, useRef, useState } from 'react'
import { texts } from '../../texts/files.tsx'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icons.tsx'

/** Plays media with the browser. Seeking sends range requests to the server. */
export function Media({
  kind,
  link,
  name,
  onSwipe,
}: {
  kind: 'image' | 'video' | 'audio'
  link: string
  name: string
  /** Called when a finger moves an image aside: 1 for the next one. */
  onSwipe?: ((direction: 1 | -1) => void) | undefined
}) {
  const [hasFailed, setFailed] = useState(false)
  if (hasFailed) return <p className="preview-note">{texts.mediaFailed}</p>
  const fail = () => setFailed(true)
  if (kind === 'image') return <ImageView link={link} name={name} onSwipe={onSwipe} onFailed={fail} />
  if (kind === 'audio') {
    // biome-ignore lint/a11y/useMediaCaption: the file comes without captions
    return <audio src={link} aria-label={name} controls onError={fail} />
  }
  // biome-ignore lint/a11y/useMediaCaption: as above
  return <video src={link} aria-label={name} controls playsInline onError={fail} />
}

/** The view of an image: scaled around the middle of its frame, and then moved by pixels. */
interface Zoom {
  scale: number
  x: number
  y: number
}

/** Pixels from the top left corner of the page, or from the middle of the frame. */
interface Point {
  x: number
  y: number
}

interface Size {
  width: number
  height: number
}

const fitted: Zoom = { scale: 1, x: 0, y: 0 }
const maxScale = 16

/** Scales by a factor, so that the point, measured from the middle of the frame, stays where it is. */
function zoomAt({ scale, x, y }: Zoom, factor: number, point: Point, frame: Size): Zoom {
  const next = Math.min(maxScale, Math.max(1, scale * factor))
  const ratio = next / scale
  return within({ scale: next, x: point.x - (point.x - x) * ratio, y: point.y - (point.y - y) * ratio }, frame)
}

function moveBy({ scale, x, y }: Zoom, by: Point, frame: Size): Zoom {
  return within({ scale, x: x + by.x, y: y + by.y }, frame)
}

/** Keeps the frame covered by what was in it before it was scaled. */
function within({ scale, x, y }: Zoom, { width, height }: Size): Zoom {
  const bound = (value: number, length: number) => {
    const most = (length * (scale - 1)) / 2
    return Math.min(most, Math.max(-most, value))
  }
  return { scale, x: bound(x, width), y: bound(y, height) }
}

/** The factor of a press on a button or a key. */
const step = 1.5
/** Pixels. */
const swipeWidth = 60
/** The factor for each pixel that a wheel turns. */
const wheelStep = 1.002
/** The scale after a double click. */
const closeUp = 3

/** Shows an image that can be scaled with the wheel, two fingers, a double click, the keys + and -, and buttons. */
function ImageView({
  link,
  name,
  onSwipe,
  onFailed,
}: {
  link: string
  name: string
  onSwipe: ((direction: 1 | -1) => void) | undefined
  onFailed: () => void
}) {
  const frame = useRef<HTMLDivElement>(null)
  const [zoom, setZoom] = useState<Zoom>(fitted)
  /** The positions of the fingers, or of the pressed mouse. */
  const pointers = useRef(new Map<number, Point>())
  /** Where a single finger began to move; null with a second one. */
  const swipe = useRef<Point | null>(null)
  const isZoomed = zoom.scale > 1
  const percent = texts.percent(Math.round(zoom.scale * 100))

  const sizeOfFrame = () => {
    const { clientWidth: width = 0, clientHeight: height = 0 } = frame.current ?? {}
    return { width, height }
  }
  const fromMiddle = ({ x, y }: Point): Point => {
    const { left = 0, top = 0, width = 0, height = 0 } = frame.current?.getBoundingClientRect() ?? {}
    return { x: x - left - width / 2, y: y - top - height / 2 }
  }
  const scaleBy = (factor: number, at: Point = { x: 0, y: 0 }) =>
    setZoom(zoom => zoomAt(zoom, factor, at, sizeOfFrame()))

  const onWheel = useEffectEvent((event: WheelEvent) => {
    event.preventDefault()
    scaleBy(wheelStep ** -event.deltaY, fromMiddle({ x: event.clientX, y: event.clientY }))
  })
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === '+' || event.key === '=') scaleBy(step)
    else if (event.key === '-') scaleBy(1 / step)
    else if (event.key === '0') setZoom(fitted)
  })
  useEffect(() => {
    const element = frame.current
    const turn = (event: WheelEvent) => onWheel(event)
    const press = (event: KeyboardEvent) => onKeyDown(event)
    // React adds passive listeners, which cannot keep the browser from scaling the page.
    element?.addEventListener('wheel', turn, { passive: false })
    document.addEventListener('keydown', press)
    return () => {
      element?.removeEventListener('wheel', turn)
      document.removeEventListener('keydown', press)
    }
  }, [])

  const onPointerMove = ({ pointerId, clientX, clientY }: PointerEvent) => {
    const before = pointers.current.get(pointerId)
    if (!before) return
    const now = { x: clientX, y: clientY }
    const [other] = [...pointers.current].flatMap(([id, point]) => (id === pointerId ? [] : [point]))
    pointers.current.set(pointerId, now)
    if (!other) {
      setZoom(zoom => moveBy(zoom, { x: now.x - before.x, y: now.y - before.y }, sizeOfFrame()))
      return
    }
    const distance = (point: Point) => Math.hypot(point.x - other.x, point.y - other.y)
    const middle = fromMiddle({ x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 })
    scaleBy(distance(now) / Math.max(distance(before), 1), middle)
  }
  const release = ({ pointerId, clientX, clientY }: PointerEvent) => {
    pointers.current.delete(pointerId)
    const begin = swipe.current
    swipe.current = null
    if (!begin || isZoomed) return
    const [x, y] = [clientX - begin.x, clientY - begin.y]
    if (Math.abs(x) > swipeWidth && Math.abs(x) > 2 * Math.abs(y)) onSwipe?.(x < 0 ? 1 : -1)
  }

  return (
    <div className="image-view">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the buttons and keys do the same */}
      <div
        ref={frame}
        className={`image-frame${isZoomed ? ' zoomed' : ''}`}
        onPointerDown={event => {
          event.currentTarget.setPointerCapture(event.pointerId)
          const at = { x: event.clientX, y: event.clientY }
          swipe.current = event.pointerType === 'touch' && pointers.current.size === 0 ? at : null
          pointers.current.set(event.pointerId, at)
        }}
        onPointerMove={onPointerMove}
        onPointerUp={release}
        onPointerCancel={({ pointerId }) => {
          pointers.current.delete(pointerId)
          swipe.current = null
        }}
        onDoubleClick={({ clientX, clientY }) => {
          if (isZoomed) setZoom(fitted)
          else scaleBy(closeUp, fromMiddle({ x: clientX, y: clientY }))
        }}
      >
        <img
          src={link}
          alt={name}
          draggable={false}
          style={{ transform: `translate(${zoom.x}px, ${zoom.y}px) scale(${zoom.scale})` }}
          onError={onFailed}
        />
      </div>
      <div className="zoom-bar" role="toolbar" aria-label={texts.zoom}>
        <Button variant="quiet" aria-label={texts.zoomOut} isDisabled={!isZoomed} onPress={() => scaleBy(1 / step)}>
          <Icon name="minus" />
        </Button>
        <Button
          variant="quiet"
          aria-label={texts.zoomFit(percent)}
          isDisabled={!isZoomed}
          onPress={() => setZoom(fitted)}
        >
          {percent}
        </Button>
        <Button
          variant="quiet"
          aria-label={texts.zoomIn}
          isDisabled={zoom.scale >= maxScale}
          onPress={() => scaleBy(step)}
        >
          <Icon name="plus" />
        </Button>
      </div>
    </div>
  )
}
