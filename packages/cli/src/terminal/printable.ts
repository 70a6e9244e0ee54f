/** Control characters, and the characters that reverse the direction of text: they could deceive the reader of a terminal. */
const unsafe = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/** Writes characters that a terminal would interpret as escapes, as in JSON. File names can contain any of them. */
export function printable(text: string): string {
  return text.replace(unsafe, escapeOf)
}

/** Returns JSON in which characters that a terminal would interpret are escaped. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(unsafe, escapeOf)
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
