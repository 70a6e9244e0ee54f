/** UTF-16 code units; shorter texts occur where they are no secret. */
export const minLength = 8
/** The same for one line of a longer secret, such as a private key: each line alone reveals a part of it. */
const minLineLength = 24

/** The secret itself and, if it has several lines or words, each of the longer ones. */
export function partsOf(secret: string): string[] {
  const whole = secret.trim()
  if (whole.length < minLength) return []
  const lines = whole.split(/\\n|\s+/)
  return [whole, ...(lines.length > 1 ? lines.filter(line => line.length >= minLineLength) : [])]
}

/** As it is, within JSON, once more within JSON, percent-encoded, in hex, and in base64, also inside a longer text. */
export function formsOf(text: string): string[] {
  const bytes = Buffer.from(text)
  const inJson = JSON.stringify(text).slice(1, -1)
  const base64 = [0, 1, 2].map(before => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes])
    // Characters that also hold bits of what precedes or follows are left out.
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
