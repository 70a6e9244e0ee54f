/** A chapter as a page that runs, loads and links nothing. */
import createSanitizer from 'dompurify'
import { TooLarge } from '../bytes.ts'
import { type Book, type Chapter, pictureBudget } from './open.ts'

const blocks = 'h1 h2 h3 h4 h5 h6 p div section article header footer hr pre blockquote figure figcaption aside nav'
const lists = 'ul ol li dl dt dd table caption thead tbody tfoot tr th td'
const phrases = 'a b br cite code del dfn em i img ins kbd mark q ruby rb rp rt s small span strong sub sup var wbr'

const allowed = {
  ALLOWED_TAGS: [blocks, lists, phrases].flatMap(list => list.split(' ')),
  ALLOWED_ATTR: ['alt', 'title', 'colspan', 'rowspan', 'start', 'dir', 'lang', 'src'],
  ALLOWED_URI_REGEXP: /^data:image\//i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM: false as const,
}

const maxPictures = 200
/** The page waits while they are cleaned. */
const maxElements = 100_000
const sanitizer = createSanitizer(window)

/** @param colors CSS for the page @throws Error if the chapter is damaged or too large; StowageError */
export async function pageOf(book: Book, chapter: Chapter, colors: string, signal: AbortSignal): Promise<string> {
  const source = await book.document(chapter)
  if (source.getElementsByTagName('*').length > maxElements) throw new TooLarge()
  const budget = pictureBudget()
  const pictures = [...source.querySelectorAll('img, image')].slice(0, maxPictures)
  for (const picture of pictures) {
    signal.throwIfAborted()
    const address = picture.getAttribute('src') ?? picture.getAttribute('href') ?? picture.getAttribute('xlink:href')
    const found = address === null ? null : await book.picture(chapter, address, budget)
    const shown = document.createElement('img')
    shown.alt = picture.getAttribute('alt') ?? ''
    if (found !== null) shown.src = found
    // Covers are often an image within an SVG drawing, which is left out.
    const drawing = picture.closest('svg')
    ;(drawing ?? picture).replaceWith(source.importNode(shown, true))
  }
  const body = source.body ?? source.documentElement
  const clean = sanitizer.sanitize(new XMLSerializer().serializeToString(body), allowed)
  const { lang } = source.documentElement
  return `<!doctype html><html lang="${/^[\w-]{1,20}$/.test(lang) ? lang : ''}"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<style>${colors}
body { max-width: 38rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; font: 1.1rem/1.6 Georgia, "Noto Serif", "DejaVu Serif", serif; overflow-wrap: anywhere; }
img { max-width: 100%; height: auto; }
h1, h2, h3 { line-height: 1.25; }
table { border-collapse: collapse; } th, td { padding: 0.3rem 0.6rem; border: 1px solid; }
</style></head><body>${clean}</body></html>`
}
