/** The view of an image: scaled around the middle of its frame, and then moved by pixels. */
export interface Zoom {
  scale: number
  x: number
  y: number
}

/** Pixels from the top left corner of the page, or from the middle of the frame. */
export interface Point {
  x: number
  y: number
}

interface Size {
  width: number
  height: number
}

export const fitted: Zoom = { scale: 1, x: 0, y: 0 }
export const maxScale = 16

/** Scales by a factor, so that the point, measured from the middle of the frame, stays where it is. */
export function zoomAt({ scale, x, y }: Zoom, factor: number, point: Point, frame: Size): Zoom {
  const next = Math.min(maxScale, Math.max(1, scale * factor))
  const ratio = next / scale
  return within({ scale: next, x: point.x - (point.x - x) * ratio, y: point.y - (point.y - y) * ratio }, frame)
}

export function moveBy({ scale, x, y }: Zoom, by: Point, frame: Size): Zoom {
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
