import { useState } from 'react'
import { TextField } from '../../ui/field.tsx'
import { Select } from '../../ui/select.tsx'

const presets = [
  { value: '7', title: '7 days' },
  { value: '30', title: '30 days' },
  { value: '90', title: '90 days' },
  { value: '365', title: 'A year' },
  { value: 'custom', title: 'A date of your own …' },
  { value: 'never', title: 'Never' },
] as const

type Preset = (typeof presets)[number]['value']

const day = 24 * 60 * 60 * 1000
const when = new Intl.DateTimeFormat(undefined, { dateStyle: 'long' })

/** When something ends: a choice of usual times, or the end of any day. */
export function useExpiry(start: Preset) {
  const [preset, setPreset] = useState<Preset>(start)
  const [date, setDate] = useState('')
  return {
    preset,
    setPreset,
    date,
    setDate,
    /** As of now; null is never. */
    expiresAt(): string | null {
      if (preset === 'never') return null
      // The whole day still counts, where the person is.
      return (preset === 'custom' ? new Date(`${date}T23:59:59`) : inDays(Number(preset))).toISOString()
    },
  }
}

export function ExpiryField({ expiry, allowNever }: { expiry: ReturnType<typeof useExpiry>; allowNever: boolean }) {
  const { preset, date } = expiry
  return (
    <>
      <Select
        label="Expires"
        options={presets.filter(({ value }) => allowNever || value !== 'never')}
        value={preset}
        onChange={expiry.setPreset}
        description={describe(preset)}
      />
      {preset === 'custom' && (
        <TextField
          label="Last day"
          type="date"
          value={date}
          onChange={expiry.setDate}
          isRequired
          validate={value => (value && new Date(`${value}T23:59:59`) <= new Date() ? 'Choose a day to come.' : null)}
        />
      )}
    </>
  )
}

function describe(preset: Preset): string {
  if (preset === 'custom') return 'At the end of that day.'
  if (preset === 'never') return 'It is good until somebody revokes it. A date is safer.'
  return `On ${when.format(inDays(Number(preset)))}.`
}

function inDays(days: number): Date {
  return new Date(Date.now() + days * day)
}
