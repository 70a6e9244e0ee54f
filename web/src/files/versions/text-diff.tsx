/** The difference between two texts, in one column or side by side. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { runInWorker } from '../../lib/worker-task.ts'
import { common } from '../../texts/common.ts'
import { formatBytes } from '../../texts/format.ts'
import { texts } from '../../texts/versions.tsx'
import { Choices } from '../../ui/choices.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { useIsWide } from '../../ui/window-size.ts'
import { type ContentLocation, readerOf } from '../preview/source.ts'
import { loadBeginning } from '../preview/viewers/load-text.ts'
import { type DiffHunk, type DiffLine, maxLines, sideBySide, type TextDiff } from './diff.ts'

/** Bytes of each text. */
const maxSize = 1024 * 1024
/** Milliseconds. */
const deadline = 20_000

/** One text of a comparison. */
export interface ComparedText {
  at: ContentLocation
  /** Changes with the content. */
  key: string
  /** Shown above the text. */
  title: string
}

interface Comparison {
  isTooLarge: boolean
  isGuess: boolean
  /** Whether both have the same bytes. */
  isSame: boolean
  /** Null if the texts differ too much. */
  diff: TextDiff | null
}

async function compare(older: ContentLocation, newer: ContentLocation, signal: AbortSignal): Promise<Comparison> {
  const [before, after] = await Promise.all([older, newer].map(at => loadBeginning(readerOf(at), maxSize, signal)))
  const none = { isTooLarge: false, isGuess: false, isSame: false, diff: null }
  if (!before?.isAll || !after?.isAll) return { ...none, isTooLarge: true }
  const found = { ...none, isGuess: before.isGuess || after.isGuess, isSame: before.text === after.text }
  const worker = new Worker(new URL('./diff-worker.ts', import.meta.url), { type: 'module' })
  const ended = AbortSignal.any([signal, AbortSignal.timeout(deadline)])
  try {
    return { ...found, diff: await runInWorker<TextDiff | null>(worker, [before.text, after.text], ended) }
  } catch (error) {
    signal.throwIfAborted()
    if (!ended.aborted) throw error
    return found
  }
}

type DiffLayout = 'split' | 'unified'
const layouts = (['split', 'unified'] as const).map(value => ({ value, title: texts.layouts[value] }))

export function TextDiffView({ name, older, newer }: { name: string; older: ComparedText; newer: ComparedText }) {
  const isWide = useIsWide()
  const [layout, setLayout] = useState<DiffLayout>('split')
  const { data, error, refetch } = useQuery({
    queryKey: ['diff', older.at, older.key, newer.at, newer.key],
    queryFn: ({ signal }) => compare(older.at, newer.at, signal),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (error) return <ErrorBox error={error} retry={refetch} />
  if (!data) return <Loading label={common.loading} />
  if (data.isTooLarge) return <p className="preview-note">{texts.tooLarge(formatBytes(maxSize))}</p>
  if (data.diff === null) return <p className="preview-note">{texts.tooDifferent}</p>
  const { hunks, added, removed, isCut } = data.diff
  if (hunks.length === 0) return <p className="preview-note">{data.isSame ? texts.sameText : texts.sameLines}</p>
  const Table = isWide && layout === 'split' ? SplitTable : UnifiedTable
  return (
    <div className="preview-text">
      {data.isGuess && <p className="notice">{texts.notUtf8}</p>}
      {isCut && <p className="notice">{texts.cut(maxLines)}</p>}
      <div className="diff-bar">
        <p className="help">{texts.changes(added, removed)}</p>
        {isWide && <Choices label={texts.layout} choices={layouts} value={layout} onChange={setLayout} layout="row" />}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the table scrolls */}
      <section className="diff" tabIndex={0} aria-label={texts.changesOf(name)}>
        <Table hunks={hunks} older={older.title} newer={newer.title} />
      </section>
    </div>
  )
}

interface DiffTableProps {
  hunks: readonly DiffHunk[]
  older: string
  newer: string
}

function UnifiedTable({ hunks, older, newer }: DiffTableProps) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col" className="diff-number">
            <span className="visually-hidden">{texts.olderLine}</span>
          </th>
          <th scope="col" className="diff-number">
            <span className="visually-hidden">{texts.newerLine}</span>
          </th>
          <th scope="col">{texts.between(older, newer)}</th>
        </tr>
      </thead>
      {hunks.map(({ skipped, lines }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: hunks never move
        <tbody key={index}>
          {skipped > 0 && <Skipped lines={skipped} columns={3} />}
          {lines.map(line => (
            <tr key={`${line.older} ${line.newer}`} className={`diff-${line.kind}`}>
              <td className="diff-number">{line.older}</td>
              <td className="diff-number">{line.newer}</td>
              <LineText line={line} />
            </tr>
          ))}
        </tbody>
      ))}
    </table>
  )
}

function SplitTable({ hunks, older, newer }: DiffTableProps) {
  return (
    <table className="split">
      <thead>
        <tr>
          <th scope="col" className="diff-number">
            <span className="visually-hidden">{texts.olderLine}</span>
          </th>
          <th scope="col">{older}</th>
          <th scope="col" className="diff-number">
            <span className="visually-hidden">{texts.newerLine}</span>
          </th>
          <th scope="col">{newer}</th>
        </tr>
      </thead>
      {hunks.map(({ skipped, lines }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: hunks never move
        <tbody key={index}>
          {skipped > 0 && <Skipped lines={skipped} columns={4} />}
          {sideBySide(lines).map(([before, after]) => (
            <tr key={`${before?.older} ${after?.newer}`}>
              <td className="diff-number">{before?.older}</td>
              <LineText line={before} />
              <td className="diff-number">{after?.newer}</td>
              <LineText line={after} />
            </tr>
          ))}
        </tbody>
      ))}
    </table>
  )
}

function Skipped({ lines, columns }: { lines: number; columns: number }) {
  return (
    <tr className="diff-skipped">
      <td colSpan={columns}>{texts.unchanged(lines)}</td>
    </tr>
  )
}

/** A line of the text; an empty cell beside a line that has no counterpart. */
function LineText({ line }: { line: DiffLine | null }) {
  if (!line) return <td className="diff-line diff-nothing" />
  const { kind, parts } = line
  return (
    <td className={`diff-line diff-${kind}`}>
      {kind !== 'same' && <span className="visually-hidden">{texts[kind]}: </span>}
      {parts.map(({ text, isChanged }, index) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: parts never move
        isChanged ? <mark key={index}>{text}</mark> : <span key={index}>{text}</span>,
      )}
    </td>
  )
}
