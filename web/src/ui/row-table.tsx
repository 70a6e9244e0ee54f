import type { ReactNode } from 'react'
import { common } from '../texts/common.ts'
import './row-table.css'

/** A table whose rows end with a cell of actions; on narrow screens each row is a card. */
export function RowTable({
  label,
  columns,
  children,
}: {
  label: string
  /** The headings of all columns except the actions. */
  columns: readonly string[]
  children: ReactNode
}) {
  return (
    <table className="table rows" aria-label={label}>
      <thead>
        <tr>
          {columns.map(column => (
            <th scope="col" key={column}>
              {column}
            </th>
          ))}
          <th scope="col">
            <span className="visually-hidden">{common.actions}</span>
          </th>
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}
