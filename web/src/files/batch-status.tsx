import { Label, ProgressBar } from 'react-aria-components'
import { ErrorBox } from '../ui/error-box.tsx'
import type { Failure } from './batch.ts'
import type { Entry } from './operations.ts'

export function BatchProgress({ label, done, total }: { label: string; done: number; total: number }) {
  return (
    <ProgressBar value={done} maxValue={total} valueLabel={`${done} of ${total}`} className="progress">
      {({ percentage, valueText }) => (
        <>
          <Label>
            {label}: {valueText}
          </Label>
          <div className="progress-track">
            <div className="progress-fill" style={{ width: `${percentage}%` }} />
          </div>
        </>
      )}
    </ProgressBar>
  )
}

const shown = 5

/** Each that could not be done, with the server's reason. */
export function BatchFailures({ failures }: { failures: readonly Failure<Entry>[] }) {
  return (
    <div className="batch-failures">
      {failures.slice(0, shown).map(({ item, error }) => (
        <div key={`${item.__typename}/${item.name}`}>
          <p className="batch-name">{item.name}</p>
          <ErrorBox error={error} />
        </div>
      ))}
      {failures.length > shown && <p>… and {failures.length - shown} more.</p>}
    </div>
  )
}
