/** Control characters, surrogates without a partner, and characters that are invisible or change the direction of text. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu
/** Invisible characters that stay, because some languages and emoji need them: ZERO WIDTH NON-JOINER and ZERO WIDTH JOINER. */
const joiners: ReadonlySet<string> = new Set(['\u200c', '\u200d'])

/**
 * Writes the characters that are not printable as escapes, as in JSON. They could control a terminal or deceive its reader, and
 * names of files can contain any of them. JSON keeps its meaning.
 */
export function printable(text: string): string {
  return text.replace(unprintable, character => (joiners.has(character) ? character : escapeOf(character)))
}

function escapeOf(character: string): string {
  const units = character.split('')
  return units.map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
}
