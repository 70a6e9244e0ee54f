/** A person's position in a folder. */
export interface Place {
  /** The key of the entry with the keyboard focus. */
  focused: string | null
  /** The scroll offset of the table in pixels; null if it should scroll to the focused entry. */
  top: number | null
}

const maxPlaces = 200
const places = new Map<string, Place>()

/** Remembers the place in a folder until the page is closed, so that going back continues there. */
export function keepPlace(href: string, place: Place): void {
  places.delete(href)
  places.set(href, place)
  const [oldest] = places.keys()
  if (places.size > maxPlaces && oldest !== undefined) places.delete(oldest)
}

export function placeOf(href: string): Place | null {
  return places.get(href) ?? null
}
