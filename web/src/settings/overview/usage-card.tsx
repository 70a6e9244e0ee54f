import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryKeys } from '../../api/query-keys.ts'
import { texts as auditTexts } from '../../texts/audit.ts'
import { formatBytes, formatChange, formatUtcDay } from '../../texts/format.ts'
import { texts as insightTexts } from '../../texts/insight.ts'
import { texts as jobTexts } from '../../texts/jobs.ts'
import { texts } from '../../texts/overview.ts'
import { Choices } from '../../ui/choices.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Select } from '../../ui/select.tsx'
import { type Overview, readUsage, type UsageDay } from './operations.ts'
import { UsageChart } from './usage-chart.tsx'
import './usage.css'

type Period = keyof typeof texts.periods

const daysOf: Record<Period, number> = { MONTH: 30, YEAR: 365 }
const periods = (Object.keys(daysOf) as Period[]).map(value => ({ value, title: texts.periods[value] }))
/** Stands for all storages, because a choice needs a value. */
const all = 'all'
/** Milliseconds. The servers count several times a day. */
const refetchInterval = 5 * 60_000

/** How the usage of the storages, or of one of them, has grown. */
export function UsageCard({ storages }: { storages: Overview['storages'] }) {
  const [period, setPeriod] = useState<Period>('MONTH')
  const [storage, setStorage] = useState(all)
  const providerId = storages.some(({ provider }) => provider.id === storage) ? storage : null
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: [...queryKeys.overview, 'usage', period, providerId],
    queryFn: ({ signal }) => readUsage(daysOf[period], providerId, signal),
    placeholderData: keepPreviousData,
    refetchInterval,
  })
  const options = [
    { value: all, title: insightTexts.allStorages },
    ...storages.map(({ provider }) => ({ value: provider.id, title: provider.name })),
  ]
  return (
    <section className="overview-card overview-usage" aria-labelledby="overview-usage">
      <div className="usage-head">
        <h2 id="overview-usage">{texts.usage}</h2>
        {storages.length > 1 && (
          <Select label={auditTexts.storage} options={options} value={providerId ?? all} onChange={setStorage} />
        )}
        <Choices label={texts.period} layout="row" choices={periods} value={period} onChange={setPeriod} />
      </div>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!data && !error && <span className="skeleton overview-blank" />}
      {data && (
        <div className="usage" aria-busy={isPlaceholderData}>
          <Usage key={`${period} ${providerId}`} days={data} />
        </div>
      )}
    </section>
  )
}

function Usage({ days }: { days: readonly UsageDay[] }) {
  /** The day that a person looks at; null for the last one. */
  const [shown, setShown] = useState<number | null>(null)
  const [first] = days
  const last = days.at(-1)
  if (!first || !last) {
    return (
      <div className="empty">
        <Icon name="chart" />
        <p>{texts.noUsage}</p>
      </div>
    )
  }
  const index = shown === null ? days.length - 1 : Math.min(shown, days.length - 1)
  const { day, bytes, files } = days[index] ?? last
  const growth = last.bytes - first.bytes
  return (
    <>
      <p className="usage-now">
        <strong className="overview-number">{formatBytes(bytes)}</strong>
        <span className="help">
          {jobTexts.files(files)} · {formatUtcDay(day)}
        </span>
        {growth !== 0 && <span className="usage-growth">{formatChange(growth)}</span>}
      </p>
      <UsageChart days={days} index={index} onShow={setShown} />
      {days.length === 1 && <p className="help">{texts.oneDay}</p>}
    </>
  )
}
