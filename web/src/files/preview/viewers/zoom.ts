/** Scales and moves what a frame shows: with the wheel, two fingers, a double click, and the keys + and -. */
import { type PointerEvent, type RefObject, useEffect, useEffectEvent, useRef, useState } from 'react'

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
export const step = 1.5
/** The factor for each pixel that a wheel turns. */
const wheelStep = 1.002
/** The scale after a double click. */
const closeUp = 3

export function useZoom(frame: RefObject<HTMLElement | null>) {
  const [zoom, setZoom] = useState<Zoom>(fitted)
  /** The positions of the fingers, or of the pressed mouse. */
  const pointers = useRef(new Map<number, Point>())
  const isZoomed = zoom.scale > 1

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
    const isTyped = event.target instanceof Element && event.target.matches('input, textarea, select')
    if (isTyped || event.ctrlKey || event.metaKey || event.altKey) return
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
  }, [frame])

  return {
    zoom,
    isZoomed,
    canGrow: zoom.scale < maxScale,
    scaleBy,
    fit: () => setZoom(fitted),
    /** The listeners of the frame. */
    gestures: {
      onPointerDown: (event: PointerEvent<HTMLElement>) => {
        event.currentTarget.setPointerCapture(event.pointerId)
        pointers.current.set(event.pointerId, { x: event.clientX, y: event.clientY })
      },
      onPointerMove: ({ pointerId, clientX, clientY }: PointerEvent) => {
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
      },
      onPointerUp: ({ pointerId }: PointerEvent) => void pointers.current.delete(pointerId),
      onPointerCancel: ({ pointerId }: PointerEvent) => void pointers.current.delete(pointerId),
      onDoubleClick: ({ clientX, clientY }: { clientX: number; clientY: number }) => {
        if (isZoomed) setZoom(fitted)
        else scaleBy(closeUp, fromMiddle({ x: clientX, y: clientY }))
      },
    },
  }
}
