import { ProgressBar } from 'react-aria-components'

/** Shown while something loads. It appears after a short delay, so that fast responses do not flicker. */
export function Loading({ label }: { label: string }) {
  return (
    <ProgressBar isIndeterminate className="loading" aria-label={label}>
      <span className="spinner" aria-hidden="true" />
      <span>{label}…</span>
    </ProgressBar>
  )
}
