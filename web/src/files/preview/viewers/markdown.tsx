import createSanitizer from 'dompurify'
import { useLayoutEffect, useMemo, useRef } from 'react'
import { texts } from '../../../texts/viewers.ts'
import { parseMarkdown } from './parse-markdown.ts'

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

/** Shows Markdown as the document that it describes, or as it is if that would take long. */
export function MarkdownView({ text, name }: { text: string; name: string }) {
  const container = useRef<HTMLElement>(null)
  const html = useMemo(() => parseMarkdown(text), [text])
  useLayoutEffect(() => {
    if (html !== null) container.current?.replaceChildren(sanitizer.sanitize(html, allowed))
  }, [html])
  // biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls
  if (html === null) return <pre tabIndex={0}>{text}</pre>
  // biome-ignore lint/a11y/noNoninteractiveTabindex: the document scrolls
  return <article ref={container} className="markdown" dir="auto" aria-label={name} tabIndex={0} />
}
