import { useQuery } from '@tanstack/react-query'
import { memo } from 'react'
import { runInWorker } from '../../../lib/worker-task.ts'
import type { Code } from './highlight-worker.ts'
import { type CodeLanguage, loadLanguage, type Token } from './languages.ts'

/** Characters. A longer text would need too many elements, so it is shown in one color. */
const maxLength = 150_000

/** Shows program code with highlighted syntax. Text is plain while it is being parsed, and always if it is long. */
export function CodeView({ text, language }: { text: string; language: CodeLanguage }) {
  const { data } = useQuery({
    queryKey: ['highlight', language, text],
    queryFn: ({ signal }) => highlight(text, language, signal),
    enabled: text.length <= maxLength,
    gcTime: 0,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the text scrolls
    <pre tabIndex={0} className="code" data-language={data ? language : undefined}>
      {data
        ? // biome-ignore lint/suspicious/noArrayIndexKey: lines never move
          data.map((tokens, index) => <Line key={index} tokens={tokens} isFirst={index === 0} />)
        : text}
    </pre>
  )
}

const Line = memo(function Line({ tokens, isFirst }: { tokens: readonly Token[]; isFirst: boolean }) {
  return (
    <>
      {!isFirst && '\n'}
      {tokens.map(({ text, color }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: tokens never move
        <span key={index} style={{ color }}>
          {text}
        </span>
      ))}
    </>
  )
})

/** Milliseconds. */
const deadline = 20_000

/**
 * Splits a text into lines of colored tokens.
 * @throws if the colors cannot be loaded or take longer than the deadline
 */
async function highlight(text: string, language: CodeLanguage, signal: AbortSignal): Promise<Token[][]> {
  const { default: grammar } = await loadLanguage(language)
  const code: Code = { text, language, grammar }
  const worker = new Worker(new URL('./highlight-worker.ts', import.meta.url), { type: 'module' })
  return runInWorker<Token[][]>(worker, code, AbortSignal.any([signal, AbortSignal.timeout(deadline)]))
}
