import { ProgressBar } from 'react-aria-components'

/** In place of what is being fetched; it appears only after a moment, so that quick answers do not flicker. */
export function Loading({ label }: { label: string }) {
  return (
    <ProgressBar isIndeterminate className="loading" aria-label={label}>
      <span className="spinner" aria-hidden="true" />
      <span>{label} …</span>
    </ProgressBar>
  )
}
