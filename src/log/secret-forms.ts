/**
 * The minimum length of a secret to redact, in UTF-16 code units. Shorter texts also occur by chance in harmless lines.
 */
export const minLength = 8
/**
 * The minimum length of one line of a secret, in UTF-16 code units. Each line of a private key, for example, reveals a
 * part of it.
 */
const minLineLength = 24

/** Returns the whole secret and, if it has several lines or words, each of the longer ones. */
export function partsOf(secret: string): string[] {
  const whole = secret.trim()
  if (whole.length < minLength) return []
  const lines = whole.split(/\\n|\s+/)
  return [whole, ...(lines.length > 1 ? lines.filter(line => line.length >= minLineLength) : [])]
}

/**
 * Returns the text plain, in JSON, in JSON within JSON, percent-encoded, in hex, and in base64, alone and inside a
 * longer text.
 */
export function formsOf(text: string): string[] {
  const bytes = Buffer.from(text)
  const inJson = JSON.stringify(text).slice(1, -1)
  const base64 = [0, 1, 2].map(before => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes])
    // Leaves out characters that also encode neighboring bytes.
    return whole.toString('base64').slice(Math.ceil((before * 4) / 3), Math.floor((whole.length * 4) / 3))
  })
  const hex = bytes.toString('hex')
  const forms = [
    text,
    inJson,
    JSON.stringify(inJson).slice(1, -1),
    encodeURIComponent(text.toWellFormed()),
    new URLSearchParams({ '': text }).toString().slice(1),
    ...base64,
    ...base64.map(each => each.replaceAll('+', '-').replaceAll('/', '_')),
    ...base64.map(encodeURIComponent),
    hex,
    hex.toUpperCase(),
  ]
  return [...new Set(forms)]
}
