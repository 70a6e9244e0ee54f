import { useQuery } from '@tanstack/react-query'
import { Label, Meter } from 'react-aria-components'
import { queryKeys } from '../api/query-keys.ts'
import { ask } from '../api/request.ts'
import { formatBytes } from '../ui/format.ts'
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
  if (error) return <p className="help">The used space could not be read: {error.message}</p>
  const quota = data?.provider.quota
  if (!data) return null
  if (quota?.used == null) return <p className="help">This storage does not report how much space is used.</p>
  const used = formatBytes(quota.used)
  if (quota.total == null || quota.total === 0) return <p className="help">{used} used</p>
  const percent = Math.min(100, (quota.used / quota.total) * 100)
  // A disk also holds files outside of the folder.
  const text = `${isDisk ? 'Whole disk: ' : ''}${used} of ${formatBytes(quota.total)} used`
  return (
    <Meter value={percent} valueLabel={text} className="quota">
      <Label className="visually-hidden">Used space</Label>
      <div className="quota-track">
        <div className={`quota-fill ${percent >= nearlyFull ? 'nearly-full' : ''}`} style={{ width: `${percent}%` }} />
      </div>
      <span className="help">{text}</span>
    </Meter>
  )
}
