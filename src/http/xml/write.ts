/** Writes XML. */

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
}

const special = /[&<>"\r\n\t]/
const specials = /[&<>"\r\n\t]/g
const suspicious = /\p{Cc}|[\ufffe\uffff]/gu

export const xmlDeclaration = '<?xml version="1.0" encoding="utf-8"?>\n'

/** Escapes a text for an element or for an attribute in double quotes. What XML cannot contain becomes U+FFFD. */
export function escapeXml(text: string): string {
  const allowed = text.toWellFormed().replace(suspicious, character => (isAllowed(character) ? character : '\ufffd'))
  return special.test(allowed) ? allowed.replace(specials, character => escapes[character] ?? character) : allowed
}

/** Returns whether XML 1.0 can contain a control character or a noncharacter, even as a reference: section 2.2. */
function isAllowed(character: string): boolean {
  return '\t\n\r'.includes(character) || (character >= '\x7f' && character < '\ufffe')
}
