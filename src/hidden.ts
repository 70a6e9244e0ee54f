/**
 * What no line of the log may hold, by its value: however a library, a back end that repeats what it was sent, or an
 * adapter from elsewhere gets it into an error.
 */

/** UTF-16 code units; shorter ones are found in texts that have nothing to do with them. */
const shortest = 8
/** Of lines of a longer secret, such as a private key: each alone tells a part of it. */
const shortestLine = 24
/** The oldest go first. */
const most = 1000

export class HiddenTexts {
  /** Each with the forms in which it can appear. */
  readonly #texts = new Map<string, readonly string[]>()

  /** What else than text is left out. */
  add(...secrets: readonly unknown[]): void {
    for (const secret of secrets) {
      if (typeof secret !== 'string') continue
      this.#put(secret.trim(), shortest)
      const lines = secret.split(/\\n|\s+/)
      if (lines.length > 1) for (const line of lines) this.#put(line, shortestLine)
    }
  }

  #put(text: string, least: number): void {
    if (text.length < least) return
    const forms = this.#texts.get(text) ?? formsOf(text)
    this.#texts.delete(text)
    this.#texts.set(text, forms)
    const [oldest] = this.#texts.keys()
    if (this.#texts.size > most && oldest !== undefined) this.#texts.delete(oldest)
  }

  /** The text without them. */
  hide = (text: string): string => {
    let shown = text
    for (const forms of this.#texts.values()) {
      for (const form of forms) if (shown.includes(form)) shown = shown.replaceAll(form, '[hidden]')
    }
    return shown
  }
}

/** As it is, within JSON, once more within JSON, percent-encoded, in hex, and in base64, also of a longer text. */
function formsOf(text: string): string[] {
  const bytes = Buffer.from(text)
  const inJson = JSON.stringify(text).slice(1, -1)
  const base64 = [0, 1, 2].map(before => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes])
    // Characters that also hold bits of what stands before or behind are left out.
    return whole.toString('base64').slice(Math.ceil((before * 4) / 3), Math.floor((whole.length * 4) / 3))
  })
  const forms = [
    text,
    inJson,
    JSON.stringify(inJson).slice(1, -1),
    encodeURIComponent(text.toWellFormed()),
    new URLSearchParams({ '': text }).toString().slice(1),
    ...base64,
    ...base64.map(each => each.replaceAll('+', '-').replaceAll('/', '_')),
    ...base64.map(encodeURIComponent),
    bytes.toString('hex'),
  ]
  return [...new Set(forms)].sort((a, b) => b.length - a.length)
}
