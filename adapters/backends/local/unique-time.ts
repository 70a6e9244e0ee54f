let sequence = 0

/** Returns a number of microseconds for `uniqueTime`. */
export function nextMicroseconds(): number {
  // Never 0 or 999: rounding must not change the milliseconds.
  sequence = (sequence + 1) % 998
  return sequence + 1
}

/**
 * Returns the time in seconds with a unique number of microseconds. The kernel's own times have steps of up to 10 ms and
 * inode numbers are reused, so two files that replace each other within one step could otherwise have the same etag.
 */
export function uniqueTime(time = new Date(), microseconds = nextMicroseconds()): number {
  return time.getTime() / 1000 + microseconds / 1_000_000
}
