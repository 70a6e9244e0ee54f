import { useState } from 'react'
import { texts } from '../texts/storages.tsx'
import { TextField } from '../ui/field.tsx'
import type { ManagedProvider } from './operations.ts'

type StoredLimits = ManagedProvider['jobLimits']

const megabyte = 1_000_000
/** The least bytes per second that the server accepts. */
const minRate = 65_536
const maxFiles = 128

/** The state of the fields. `changes` are null if the limits are as stored. */
export function useJobLimits(stored: StoredLimits) {
  const [files, setFiles] = useState(String(stored.filesAtOnce))
  const [rate, setRate] = useState(stored.bytesPerSecond === null ? '' : String(stored.bytesPerSecond / megabyte))
  const limits: StoredLimits = { filesAtOnce: Number(files), bytesPerSecond: bytesOf(rate) }
  const isChanged = limits.filesAtOnce !== stored.filesAtOnce || limits.bytesPerSecond !== stored.bytesPerSecond
  return { files, setFiles, rate, setRate, changes: isChanged ? limits : null }
}

/** The limits of jobs at a storage. */
export function JobLimitFields({ limits }: { limits: ReturnType<typeof useJobLimits> }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset brings its own border and legend
    <div role="group" aria-label={texts.jobLimits} className="job-limits">
      <h3>{texts.jobLimits}</h3>
      <p className="help">{texts.jobLimitsHelp}</p>
      <TextField
        label={texts.filesAtOnce}
        value={limits.files}
        onChange={limits.setFiles}
        isRequired
        inputMode="numeric"
        autoComplete="off"
        validate={text =>
          isWholeNumber(text) && Number(text) >= 1 && Number(text) <= maxFiles ? null : texts.wrongFiles(maxFiles)
        }
      />
      <TextField
        label={texts.speed}
        description={texts.speedHelp}
        value={limits.rate}
        onChange={limits.setRate}
        inputMode="decimal"
        autoComplete="off"
        validate={text => {
          const bytes = bytesOf(text)
          return bytes === null || bytes >= minRate ? null : texts.wrongSpeed
        }}
      />
    </div>
  )
}

function isWholeNumber(text: string): boolean {
  return /^\d{1,9}$/.test(text.trim())
}

/** Returns null for an empty text, and NaN for one that is no number. */
function bytesOf(text: string): number | null {
  const plain = text.trim().replace(',', '.')
  return plain === '' ? null : Math.round(Number(plain) * megabyte)
}
