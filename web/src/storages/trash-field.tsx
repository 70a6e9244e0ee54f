import { useQuery } from '@tanstack/react-query'
import { ask } from '../api/client.ts'
import { queryKeys } from '../api/query-keys.ts'
import { texts } from '../texts/trash.tsx'
import { TextField } from '../ui/field.tsx'
import { TrashCostQuery } from './operations.ts'

const maxDays = 3650

/** Returns the days that a text means: null for an empty one, and NaN for one that is no number of days. */
export function parseDays(text: string): number | null {
  const plain = text.trim()
  if (plain === '') return null
  const days = /^\d{1,4}$/.test(plain) ? Number(plain) : Number.NaN
  return days <= maxDays ? days : Number.NaN
}

/** The field for the time that deleted files stay in the trash of a storage. It says what that costs. */
export function TrashField({
  providerId,
  value,
  onChange,
}: {
  providerId: string
  value: string
  onChange: (days: string) => void
}) {
  const { data } = useQuery({
    queryKey: [...queryKeys.providers, 'trash-cost', providerId],
    queryFn: ({ signal }) => ask(TrashCostQuery, { id: providerId }, { signal }),
  })
  const days = parseDays(value)
  const usual = data?.provider.trashDays === null ? data.provider.trash.days : null
  return (
    <>
      <TextField
        label={texts.days}
        description={texts.daysHelp(usual)}
        value={value}
        onChange={onChange}
        inputMode="numeric"
        autoComplete="off"
        validate={text => (Number.isNaN(parseDays(text)) ? texts.wrongDays(maxDays) : null)}
      />
      {data && !data.provider.trash.isOneStep && days !== null && days > 0 && (
        <p className="notice" role="status">
          {texts.costs}
        </p>
      )}
    </>
  )
}
