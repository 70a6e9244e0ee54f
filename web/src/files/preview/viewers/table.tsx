import { useMemo } from 'react'
import { common } from '../../../texts/common.ts'
import { formatNumber } from '../../../texts/format.ts'
import { texts } from '../../../texts/viewers.ts'
import { ErrorBox } from '../../../ui/error-box.tsx'
import { Loading } from '../../../ui/loading.tsx'
import type { ViewerProps } from '../viewer.ts'
import { parseTable } from './parse-table.ts'
import { useBeginning } from './text.tsx'
import './text.css'

const maxRows = 1000

/** Shows the beginning of comma-separated values as a table, with the first row as its head. */
export function TableViewer({ file }: ViewerProps) {
  const { data, error, refetch } = useBeginning(file)
  const table = useMemo(() => (data ? parseTable(data.text, maxRows + 1) : null), [data])
  if (error) return <ErrorBox error={error} retry={refetch} />
  if (!data || !table) return <Loading label={common.loading} />
  const [head = [], ...body] = table.rows
  return (
    <div className="preview-text">
      {!(data.isAll && table.isAll) && <p className="notice">{texts.firstRows(formatNumber(body.length))}</p>}
      {table.hiddenColumns > 0 && <p className="notice">{texts.hiddenColumns(table.hiddenColumns)}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the table scrolls */}
      <section className="preview-table" tabIndex={0} aria-label={file.name}>
        <table className="table">
          <thead>
            <tr>
              {head.map((cell, column) => {
                // A head without text tells a screen reader nothing.
                const Cell = cell === '' ? 'td' : 'th'
                return (
                  // biome-ignore lint/suspicious/noArrayIndexKey: columns have no names of their own
                  <Cell key={column} scope={cell === '' ? undefined : 'col'}>
                    {cell}
                  </Cell>
                )
              })}
            </tr>
          </thead>
          <tbody>
            {body.map((cells, row) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows never move
              <tr key={row}>
                {cells.map((cell, column) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: as above
                  <td key={column}>{cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  )
}
