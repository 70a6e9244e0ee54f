/** The text of HTML pages, without scripts and styles. */
import { Parser } from 'htmlparser2'
import { type Original, readWhole } from '../../../decoding/original.ts'
import { decodeText } from './plain-text.ts'
import { type ExtractTask, maxContent } from './protocol.ts'

const hidden = new Set(['script', 'style', 'template', 'noscript'])
/** Elements within a line of text. Others end it. */
const inline = new Set(
  `a abbr b bdi bdo big cite code data del dfn em font i img ins kbd mark q s samp small span strike strong sub
  sup time tt u var wbr`.split(/\s+/),
)

/** @throws Error if the file is no text */
export async function readHtml(original: Original, { maxBytes }: ExtractTask): Promise<string> {
  return textOfHtml(decodeText(await readWhole(original, maxBytes), false))
}

export function textOfHtml(html: string): string {
  const found: string[] = []
  let length = 0
  /** How many hidden elements are open. */
  let depth = 0
  const add = (text: string) => {
    if (depth > 0 || length >= maxContent) return
    found.push(text)
    length += text.length
  }
  const parser = new Parser({
    onopentagname(name) {
      if (hidden.has(name)) depth += 1
      else if (!inline.has(name)) add('\n')
    },
    ontext: add,
    onclosetag(name) {
      if (hidden.has(name)) depth -= 1
      else if (!inline.has(name)) add('\n')
    },
  })
  parser.end(html)
  return found.join('')
}
