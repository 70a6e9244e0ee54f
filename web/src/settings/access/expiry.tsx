import { useState } from 'react'
import { TextField } from '../../ui/field.tsx'
import { formatDay } from '../../ui/format.ts'
import { Select } from '../../ui/select.tsx'

const presets = [
  { value: '7', title: '7 days' },
  { value: '30', title: '30 days' },
  { value: '90', title: '90 days' },
  { value: '365', title: '1 year' },
  { value: 'custom', title: 'Custom date…' },
  { value: 'never', title: 'Never' },
] as const

type Preset = (typeof presets)[number]['value']

/** Milliseconds. */
const day = 24 * 60 * 60 * 1000

/** The state of an expiry field: a preset, or the end of a custom day. */
export function useExpiry(start: Preset) {
  const [preset, setPreset] = useState<Preset>(start)
  const [date, setDate] = useState('')
  return {
    preset,
    setPreset,
    date,
    setDate,
    /** Returns an ISO 8601 time counted from now; null means never. */
    expiresAt(): string | null {
      if (preset === 'never') return null
      // The last day counts in full, in the browser's time zone.
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
          validate={value =>
            value && new Date(`${value}T23:59:59`) <= new Date() ? 'Choose a date in the future.' : null
          }
        />
      )}
    </>
  )
}

function describe(preset: Preset): string {
  if (preset === 'custom') return 'At the end of that day.'
  if (preset === 'never') return 'It stays valid until it is revoked. An expiry date is safer.'
  return `On ${formatDay(inDays(Number(preset)).toISOString())}.`
}

function inDays(days: number): Date {
  return new Date(Date.now() + days * day)
}
