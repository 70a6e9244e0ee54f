import { texts } from '../../texts/files.tsx'
import type { View } from '../view.ts'

/** More than a window shows. */
const count = 24

/** Stands for the entries of a folder until they arrive, in their places, so that nothing jumps. */
export function FolderSkeleton({ view }: { view: View }) {
  return (
    <div className={`folder-skeleton ${view}`} role="progressbar" aria-label={texts.loadingFolder}>
      {Array.from({ length: count }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all of them are the same
        <div key={index} className="skeleton-entry">
          <span className="skeleton skeleton-icon" />
          <span className="skeleton skeleton-name" style={{ width: `${30 + ((index * 37) % 45)}%` }} />
        </div>
      ))}
    </div>
  )
}
