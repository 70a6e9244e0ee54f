import { Suspense, useRef, useState } from 'react'
import { lazyPart } from '../lib/load-part.ts'
import { texts } from '../texts/files.tsx'
import { Icon } from '../ui/icons.tsx'
import { allColumns, type ColumnChoice } from './columns.ts'
import { columnTitles } from './sort.ts'

const ActionMenu = lazyPart(async () => (await import('../ui/menu.tsx')).ActionMenu)

/** The button at the end of the headings, with a menu of the columns. */
export function ColumnMenu({ columns: { shown, toggle } }: { columns: ColumnChoice }) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  return (
    <>
      <button
        ref={button}
        type="button"
        className="icon-button"
        aria-label={texts.columns}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        title={texts.columns}
        onClick={() => setOpen(true)}
      >
        <Icon name="columns" />
      </button>
      {isOpen && (
        <Suspense>
          <ActionMenu
            anchor={button}
            label={texts.columns}
            placement="bottom end"
            groups={[
              {
                chosen: shown,
                actions: allColumns.map(id => ({ id, label: columnTitles[id], run: () => toggle(id) })),
              },
            ]}
            onClose={() => setOpen(false)}
          />
        </Suspense>
      )}
    </>
  )
}
