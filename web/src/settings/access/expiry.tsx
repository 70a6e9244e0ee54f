import { useState } from 'react'
import { common } from '../../texts/common.ts'
import { formatDay } from '../../texts/format.ts'
import { texts } from '../../texts/settings.tsx'
import { TextField } from '../../ui/field.tsx'
import { Select } from '../../ui/select.tsx'

type Preset = keyof typeof texts.expiries

const presets = (['7', '30', '90', '365', 'custom', 'never'] as const).map(value => ({
  value,
  title: texts.expiries[value],
}))

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
        label={common.expires}
        options={presets.filter(({ value }) => allowNever || value !== 'never')}
        value={preset}
        onChange={expiry.setPreset}
        description={describe(preset)}
      />
      {preset === 'custom' && (
        <TextField
          label={texts.lastDay}
          type="date"
          value={date}
          onChange={expiry.setDate}
          isRequired
          validate={value => (value && new Date(`${value}T23:59:59`) <= new Date() ? texts.futureDate : null)}
        />
      )}
    </>
  )
}

function describe(preset: Preset): string {
  if (preset === 'custom') return texts.endOfDay
  if (preset === 'never') return texts.neverHelp
  return texts.onDay(formatDay(inDays(Number(preset)).toISOString()))
}

function inDays(days: number): Date {
  return new Date(Date.now() + days * day)
}
