import { lazy, Suspense } from 'react'
import { loadPart } from '../../api/load-part.ts'
import { languageOf } from './code/language-of.ts'
import { PlainText, type TextFile, TextView } from './text.tsx'

const MarkdownView = lazy(async () => ({ default: (await loadPart(import('./markdown.tsx'))).MarkdownView }))
const CodeView = lazy(async () => ({ default: (await loadPart(import('./code/code-view.tsx'))).CodeView }))

/** Shows Markdown as a document, program code in colors, and other texts as they are. */
export function DocumentView(file: TextFile) {
  const { name } = file
  const language = languageOf(name)
  if (/\.(?:md|markdown)$/i.test(name)) {
    return (
      <TextView {...file}>
        {({ text }) => (
          <Suspense fallback={<PlainText text={text} />}>
            <MarkdownView text={text} name={name} />
          </Suspense>
        )}
      </TextView>
    )
  }
  if (language === null) return <TextView {...file}>{({ text }) => <PlainText text={text} />}</TextView>
  return (
    <TextView {...file}>
      {({ text }) => (
        <Suspense fallback={<PlainText text={text} />}>
          <CodeView text={text} language={language} />
        </Suspense>
      )}
    </TextView>
  )
}
