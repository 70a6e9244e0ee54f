/** Returns what this browser remembers under a key; null if there is nothing, or the browser does not allow it. */
export function recall(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

/** Remembers a text in this browser, unless its storage is full or not allowed. */
export function remember(key: string, text: string): void {
  try {
    localStorage.setItem(key, text)
  } catch {
    // The page continues without it.
  }
}
