import { useQuery } from '@tanstack/react-query'
import { Label, Meter } from 'react-aria-components'
import { queryKeys } from '../api/query-keys.ts'
import { ask } from '../api/request.ts'
import { formatBytes } from '../texts/format.ts'
import { texts } from '../texts/storages.tsx'
import { errorMessage } from '../ui/error-box.tsx'
import { QuotaQuery } from './operations.ts'

/** Percent. */
const nearlyFull = 90

/** Shows how much space is used, or says that the back end does not report it. */
export function QuotaBar({ providerId, isDisk }: { providerId: string; isDisk: boolean }) {
  const { data, error } = useQuery({
    queryKey: [...queryKeys.providers, providerId, 'quota'],
    queryFn: ({ signal }) => ask(QuotaQuery, { id: providerId }, { signal }),
    staleTime: 60_000,
  })
  if (error) return <p className="help">{texts.usageFailed(errorMessage(error))}</p>
  const quota = data?.provider.quota
  if (!data) return null
  if (quota?.used == null) return <p className="help">{texts.noUsage}</p>
  const used = formatBytes(quota.used)
  if (quota.total == null || quota.total === 0) return <p className="help">{texts.used(used)}</p>
  const percent = Math.min(100, (quota.used / quota.total) * 100)
  // A disk also holds files outside of the folder.
  const total = formatBytes(quota.total)
  const text = isDisk ? texts.usedOfDisk(used, total) : texts.usedOf(used, total)
  return (
    <Meter value={percent} valueLabel={text} className="quota">
      <Label className="visually-hidden">{texts.usedSpace}</Label>
      <div className="quota-track">
        <div className={`quota-fill ${percent >= nearlyFull ? 'nearly-full' : ''}`} style={{ width: `${percent}%` }} />
      </div>
      <span className="help">{text}</span>
    </Meter>
  )
}
