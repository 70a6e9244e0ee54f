import createSanitizer from 'dompurify'
import { Marked } from 'marked'
import { useLayoutEffect, useRef } from 'react'
import { texts } from '../../texts/files.tsx'

/** Characters. A longer text would take long to parse, so it is shown as it is. */
const maxLength = 200_000

const blocks = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'p', 'div', 'hr', 'pre', 'blockquote', 'details', 'summary']
const lists = ['ul', 'ol', 'li', 'dl', 'dt', 'dd']
const tables = ['table', 'caption', 'thead', 'tbody', 'tfoot', 'tr', 'th', 'td']
const phrases = [
  'a',
  'b',
  'br',
  'code',
  'del',
  'em',
  'i',
  'ins',
  'kbd',
  'mark',
  'q',
  's',
  'span',
  'strong',
  'sub',
  'sup',
]

/** Nothing else is left, so a document cannot run or load anything, send a form, or restyle the page. */
const allowed = {
  ALLOWED_TAGS: [...blocks, ...lists, ...tables, ...phrases],
  ALLOWED_ATTR: ['href', 'title', 'align', 'colspan', 'rowspan', 'start', 'open', 'dir', 'lang', 'target', 'rel'],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  RETURN_DOM_FRAGMENT: true as const,
}

const markdown = new Marked({
  gfm: true,
  async: false,
  renderer: { checkbox: ({ checked }) => `${checked ? '☑' : '☐'} ` },
})

const sanitizer = createSanitizer(window)
// An image would tell another server who reads the file, and one beside the file has no address.
sanitizer.addHook('beforeSanitizeElements', node => {
  if (node instanceof HTMLImageElement) node.before(texts.imageOf(node.alt))
})
sanitizer.addHook('afterSanitizeAttributes', node => {
  if (!(node instanceof HTMLAnchorElement)) return
  node.target = '_blank'
  node.rel = 'noopener noreferrer nofollow'
})

/** Shows Markdown as the document that it describes. */
export function MarkdownView({ text, name }: { text: string; name: string }) {
  const container = useRef<HTMLElement>(null)
  const isTooLong = text.length > maxLength
  useLayoutEffect(() => {
    if (isTooLong) return
    const html = markdown.parse(text, { async: false })
    container.current?.replaceChildren(sanitizer.sanitize(html, allowed))
  }, [text, isTooLong])
  // biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls
  if (isTooLong) return <pre tabIndex={0}>{text}</pre>
  // biome-ignore lint/a11y/noNoninteractiveTabindex: the document scrolls
  return <article ref={container} className="markdown" aria-label={name} tabIndex={0} />
}
