import { type ReactNode, useEffect, useRef } from 'react'
import './dock.css'

/** Pixels between the panels and the messages. */
const gap = 8

/** Holds the panels in a corner of every page. Messages appear above them. */
export function Dock({ children }: { children: ReactNode }) {
  const dock = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const { style } = document.documentElement
    const observer = new ResizeObserver(([entry]) => {
      const height = entry?.borderBoxSize[0]?.blockSize ?? 0
      style.setProperty('--dock-height', `${height > 0 ? height + gap : 0}px`)
    })
    if (dock.current) observer.observe(dock.current)
    return () => {
      observer.disconnect()
      style.removeProperty('--dock-height')
    }
  }, [])
  return (
    <div ref={dock} className="dock">
      {children}
    </div>
  )
}
