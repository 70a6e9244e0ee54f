import { isUtf8 } from 'node:buffer'

/** Bytes after the first one of the longest character. */
const maxContinuation = 3

/**
 * Returns the whole characters in a part of a text file, and how many bytes before them belong to another part. Returns null
 * if the bytes are not text in UTF-8.
 */
export function wholeText(
  bytes: Buffer,
  { isStart, isEnd }: { isStart: boolean; isEnd: boolean },
): { skipped: number; bytes: Buffer } | null {
  const skipped = isStart ? 0 : continuationsAt(bytes)
  const whole = bytes.subarray(skipped, isEnd ? undefined : wholeLength(bytes))
  // Almost all files with a NUL character are binary, even if they are valid UTF-8.
  return isUtf8(whole) && !whole.includes(0) ? { skipped, bytes: whole } : null
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000
}

/** Counts the bytes of a character that begins in the part before. */
function continuationsAt(bytes: Buffer): number {
  let count = 0
  while (count < maxContinuation && isContinuation(bytes[count])) count += 1
  return count
}

/** Returns the length without a character at the end that continues in the next part. */
function wholeLength(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(maxContinuation, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if (isContinuation(byte)) continue
    return back < bytesOfCharacter(byte) ? bytes.length - back : bytes.length
  }
  return bytes.length
}

/** Returns the bytes of the character that begins with this byte: RFC 3629, section 3. */
function bytesOfCharacter(first: number): number {
  if (first >= 0b1111_0000) return 4
  if (first >= 0b1110_0000) return 3
  return first >= 0b1100_0000 ? 2 : 1
}
