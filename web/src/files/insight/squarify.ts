/** A rectangle in parts of the whole, from 0 to 1. */
export interface Tile {
  left: number
  top: number
  width: number
  height: number
}

/**
 * Divides a rectangle among values, the largest first, so that the tiles are as square as possible: the algorithm of Bruls, Huizing and
 * van Wijk, "Squarified Treemaps" (2000).
 * @param aspect the width of the rectangle divided by its height
 */
export function squarify(values: readonly number[], aspect: number): Tile[] {
  const total = values.reduce((sum, value) => sum + value, 0)
  if (total <= 0) return []
  const tiles: Tile[] = []
  // The rectangle has a height of 1 and an area of `aspect`.
  const areas = values.map(value => (value / total) * aspect)
  let [left, top, width, height] = [0, 0, aspect, 1]
  for (let start = 0; start < areas.length; ) {
    const side = Math.min(width, height)
    let end = start + 1
    let sum = areas[start] ?? 0
    // A row takes values as long as they make its worst tile more square.
    for (; end < areas.length; end += 1) {
      const next = areas[end] ?? 0
      if (worst(areas, start, end + 1, sum + next, side) > worst(areas, start, end, sum, side)) break
      sum += next
    }
    const thickness = side === 0 ? 0 : sum / side
    let at = 0
    for (let index = start; index < end; index += 1) {
      const length = thickness === 0 ? 0 : (areas[index] ?? 0) / thickness
      tiles.push(
        width >= height
          ? { left, top: top + at, width: thickness, height: length }
          : { left: left + at, top, width: length, height: thickness },
      )
      at += length
    }
    if (width >= height) {
      left += thickness
      width -= thickness
    } else {
      top += thickness
      height -= thickness
    }
    start = end
  }
  return tiles.map(tile => ({ ...tile, left: tile.left / aspect, width: tile.width / aspect }))
}

/** Returns the largest ratio of the sides of the tiles in a row. The values fall, so it is that of the first or the last one. */
function worst(areas: readonly number[], start: number, end: number, sum: number, side: number): number {
  const [largest = 0, smallest = 0] = [areas[start], areas[end - 1]]
  if (smallest === 0 || sum === 0) return Number.POSITIVE_INFINITY
  const square = side * side
  return Math.max((square * largest) / (sum * sum), (sum * sum) / (square * smallest))
}
