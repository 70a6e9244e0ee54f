import { Lexer, Marked, type Token, type TokensList } from 'marked'

/** Characters. A longer text would take long to parse. */
const maxLength = 200_000
/**
 * Characters in the text and in all its parts, such as quotations, lists and emphasized words. A character counts once for each
 * part around it, and again each time that the parser goes back. Documents that people write need a few times their length.
 */
const maxWork = 4_000_000

const markdown = new Marked({
  gfm: true,
  async: false,
  renderer: { checkbox: ({ checked }) => `${checked ? '☑' : '☐'} ` },
})

/** The parser of each part passes the parts inside of it to these two methods. */
class BoundedLexer extends Lexer {
  #work = 0

  override blockTokens(source: string, tokens: Token[] = [], isClipped = false): TokensList {
    this.#spend(source)
    return super.blockTokens(source, tokens, isClipped) as TokensList
  }

  override inlineTokens(source: string, tokens: Token[] = []): Token[] {
    this.#spend(source)
    return super.inlineTokens(source, tokens)
  }

  #spend({ length }: string): void {
    this.#work += length
    if (this.#work > maxWork) throw new RangeError('The document takes too long to parse.')
  }
}

/** Returns HTML, which can contain anything. Returns null if the text is too long or nested too deeply. */
export function parseMarkdown(text: string): string | null {
  if (text.length > maxLength) return null
  try {
    return markdown.parser(new BoundedLexer(markdown.defaults).lex(text))
  } catch {
    // The text is too deep for the stack or takes too long, or the parser has a bug: the text itself can be shown.
    return null
  }
}
