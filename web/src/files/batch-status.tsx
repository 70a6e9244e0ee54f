import { Label, ProgressBar } from 'react-aria-components'
import { texts } from '../texts/files.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import type { Failure } from './batch.ts'

export function BatchProgress({ label, done, total }: { label: string; done: number; total: number }) {
  return (
    <ProgressBar value={done} maxValue={total} valueLabel={texts.progress(done, total)} className="progress">
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

const maxShown = 5

/** Lists the entries that failed, each with its error. */
export function BatchFailures({ failures }: { failures: readonly Failure[] }) {
  return (
    <div className="batch-failures">
      {failures.slice(0, maxShown).map(({ entry, error }) => (
        <div key={`${entry.__typename}/${entry.name}`}>
          <p className="batch-name">{entry.name}</p>
          <ErrorBox error={error} />
        </div>
      ))}
      {failures.length > maxShown && <p>{texts.andMore(failures.length - maxShown)}</p>}
    </div>
  )
}
