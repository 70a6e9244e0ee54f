import { ProgressBar } from 'react-aria-components'
import { ErrorBox } from './error-box.tsx'

/** Shown while something loads. It appears after a short delay, so that fast responses do not flicker. */
export function Loading({ label }: { label: string }) {
  return (
    <ProgressBar isIndeterminate className="loading" aria-label={label}>
      <span className="spinner" aria-hidden="true" />
      <span>{label}…</span>
    </ProgressBar>
  )
}

/** Shows the error of a query, or that its first data is loading. */
export function LoadState({
  query: { data, error, refetch },
  label,
}: {
  query: { data: unknown; error: unknown; refetch: () => unknown }
  label: string
}) {
  if (error) return <ErrorBox error={error} retry={refetch} />
  return data === undefined ? <Loading label={label} /> : null
}
