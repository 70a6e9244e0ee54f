/** The columns of the table beside the names, which people choose. */
import { useMemo, useState } from 'react'
import { recall, remember } from '../lib/local-storage.ts'
import { useIsPhone } from '../ui/window-size.ts'
import { byNameAscending, type SortColumn, type SortOrder } from './sort.ts'

export type Column = Exclude<SortColumn, 'name'>

/** In the order of the table. */
export const allColumns: readonly Column[] = ['tags', 'type', 'size', 'modified']
export const usualColumns: readonly Column[] = ['size', 'modified']

/** rem. */
const widths: Readonly<Record<Column, number>> = { tags: 11, type: 8, size: 7, modified: 10 }
/** The narrowest width of the names in rem, beside columns that a narrow table can leave out. */
const nameWidth = 14
/** The width of the box and the menu of a row in rem. */
const controlsWidth = 5.75
/** The columns that a narrow table leaves out, the first one first. The tags are then beside the names. */
const leftOut: readonly Column[] = ['tags', 'type']

const storageKey = 'stowage.columns'

function storedColumns(): readonly Column[] {
  const stored = recall(storageKey)?.split(' ')
  return stored ? allColumns.filter(column => stored.includes(column)) : usualColumns
}

export interface ColumnChoice {
  shown: readonly Column[]
  toggle: (column: Column) => void
}

/** The columns of all folders, which this browser remembers. The column of the order is always among them. */
export function useColumns(order: SortOrder, onOrder: (order: SortOrder) => void): ColumnChoice {
  const [chosen, setChosen] = useState(storedColumns)
  const shown = useMemo(
    () => allColumns.filter(column => chosen.includes(column) || column === order.column),
    [chosen, order.column],
  )
  const toggle = (column: Column) => {
    const changed = allColumns.filter(other => shown.includes(other) !== (other === column))
    setChosen(changed)
    remember(storageKey, changed.join(' '))
    if (column === order.column) onOrder(byNameAscending)
  }
  return { shown, toggle }
}

/**
 * Returns those of the columns that a table has room for. Phones have room for one: that of the order, or the sizes.
 * @param width pixels; 0 if the width is not known yet
 */
export function useFittingColumns(shown: readonly Column[], sorted: SortColumn, width: number): readonly Column[] {
  const isPhone = useIsPhone()
  return useMemo(() => {
    if (isPhone) return [shown.find(column => column === sorted && column !== 'tags') ?? 'size']
    if (width === 0) return shown
    const room = width / Number.parseFloat(getComputedStyle(document.documentElement).fontSize)
    let fitting = shown
    for (const column of leftOut) {
      const wanted = fitting.reduce((sum, each) => sum + widths[each], nameWidth + controlsWidth)
      if (wanted > room && column !== sorted) fitting = fitting.filter(each => each !== column)
    }
    return fitting
  }, [shown, sorted, isPhone, width])
}

/** Returns the columns of a row for its style sheet, with those of its box, its name and its menu. */
export function gridOf(columns: readonly Column[], isPhone: boolean): string {
  const widthOf = (column: Column) => (isPhone ? (column === 'size' ? 5 : 7.5) : widths[column])
  const sizes = columns.map(column => `${widthOf(column)}rem`)
  return ['44px', 'minmax(0, 1fr)', ...sizes, isPhone ? '44px' : '3rem'].join(' ')
}
