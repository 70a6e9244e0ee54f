/** Texts that break careless code, for every input that takes a text. */
import { extent } from '../support/extent.ts'

const long = 8192

/** Texts as JavaScript strings, which GraphQL clients can send. Some are not well-formed. */
export const texts: readonly string[] = [
  '\0',
  'a\0b',
  '/a\0b',
  '\ud800',
  'a\udfffb',
  '/\udc00\ud800',
  '\u0007\u001b[31m',
  'a\r\nX-Injected: 1\r\n\r\n',
  '\u0085\u2028\u2029',
  '\ufeff\ufffe\uffff',
  '\u202e\u2066txt',
  '\\u0000',
  '%00%ff',
  "'; select pg_sleep(10) --",
  '{"$ne": null}',
  '__proto__',
  '-1',
  '1e999',
  '',
  ' ',
  'x'.repeat(long),
  '/x'.repeat(long / 2),
  '\u{1f600}'.repeat(long / 4),
  '\0'.repeat(long),
]

/** The same texts as bytes, and some bytes that are not UTF-8. */
export const bytes: readonly Buffer[] = [
  ...texts.map(text => Buffer.from(text)),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xff, 0xfe, 0x00]),
  Buffer.from([0xc0, 0xaf]),
  Buffer.from([0x80]),
  Buffer.from([0xf5, 0x80, 0x80, 0x80]),
]

/** Returns the values that a run tries at one input. In `npm test`, each input tries a sixteenth. @param index the number of the input */
export function triedAt<T>(index: number, values: readonly T[]): T[] {
  return extent({ gate: values.filter((_, n) => n % 16 === index % 16), nightly: [...values] })
}
