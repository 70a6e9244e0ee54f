import { useLayoutEffect, useRef, useState } from 'react'
import { Link } from 'react-router'
import { formatBytes } from '../../texts/format.ts'
import { texts } from '../../texts/insight.ts'
import { squarify } from './squarify.ts'

export interface MapPart {
  key: string
  name: string
  bytes: number
  /** The page of the part; null if it has none. */
  href: string | null
}

/** Parts that take less than this of the whole are one tile. */
const minShare = 0.004
const maxParts = 60

/** Shows parts as tiles whose areas are their sizes. Screen readers hear a list. */
export function Treemap({ parts, total }: { parts: readonly MapPart[]; total: number }) {
  const list = useRef<HTMLUListElement>(null)
  const [aspect, setAspect] = useState(2)
  useLayoutEffect(() => {
    const { current } = list
    if (!current) return
    const measure = () => setAspect(current.clientWidth / Math.max(1, current.clientHeight))
    const observer = new ResizeObserver(measure)
    observer.observe(current)
    measure()
    return () => observer.disconnect()
  }, [])
  const shown = withoutSmall(parts, total)
  const tiles = squarify(
    shown.map(({ bytes }) => bytes),
    aspect,
  )
  return (
    <ul ref={list} className="treemap" aria-label={texts.map}>
      {shown.map(({ key, name, bytes, href }, index) => {
        const tile = tiles[index]
        if (!tile) return null
        const percent = Math.round((bytes / total) * 100)
        const content = (
          <>
            <span className="tile-name" dir="auto">
              {name}
            </span>
            <span className="tile-size">{formatBytes(bytes)}</span>
            <span className="visually-hidden">{texts.percent(percent)}</span>
          </>
        )
        const tooltip = texts.part(name, bytes, percent)
        return (
          <li
            key={key}
            className={`tile shade-${Math.min(index, 4)}`}
            style={{
              insetInlineStart: `${tile.left * 100}%`,
              top: `${tile.top * 100}%`,
              width: `${tile.width * 100}%`,
              height: `${tile.height * 100}%`,
            }}
          >
            {href === null ? (
              <span className="tile-box" title={tooltip}>
                {content}
              </span>
            ) : (
              <Link className="tile-box" to={href} title={tooltip}>
                {content}
              </Link>
            )}
          </li>
        )
      })}
    </ul>
  )
}

function withoutSmall(parts: readonly MapPart[], total: number): MapPart[] {
  const sorted = parts.filter(({ bytes }) => bytes > 0).toSorted((a, b) => b.bytes - a.bytes)
  const large = sorted.filter(({ bytes }, index) => index < maxParts && bytes >= total * minShare)
  const rest = total - large.reduce((sum, { bytes }) => sum + bytes, 0)
  if (rest < total * minShare) return large
  const others = { key: '', name: texts.others, bytes: rest, href: null }
  return [...large, others].toSorted((a, b) => b.bytes - a.bytes)
}
