import { useState } from 'react'
import { texts } from '../texts/shares.tsx'
import { Checkbox } from './choices.tsx'
import { TextField } from './field.tsx'

const megabyte = 1_000_000

/** The settings of a share, as people enter them. */
interface ShareTexts {
  password: string
  /** "2026-11-22" in the time zone of the browser; empty for a link that does not expire. */
  lastDay: string
  note: string
  /** A number of downloads for VIEW, of megabytes for DROP. */
  limit: string
  fileTypes: string
  notify: boolean
}

interface StoredShare {
  kind: 'VIEW' | 'DROP'
  note: string
  expiresAt: string | null
  maxDownloads: number | null
  maxBytes: number | null
  fileTypes: readonly string[]
  notify: boolean
}

/** @param initial values that differ from the stored ones */
export function useShareTexts(share: StoredShare | null, initial: Partial<ShareTexts> = {}) {
  const [stored] = useState(() => textsOf(share))
  const [values, setValues] = useState({ ...stored, ...initial })
  const change = (changes: Partial<ShareTexts>) => setValues({ ...values, ...changes })
  return { stored, values, change }
}

export function ShareFields({
  kind,
  isNew,
  isForPeople,
  sendsEmail,
  values: { password, lastDay, note, limit, fileTypes, notify },
  change,
}: {
  kind: StoredShare['kind']
  isNew: boolean
  /** Whether only people and groups can open the share, who rarely need a password, too. */
  isForPeople: boolean
  /** Whether the server sends email. */
  sendsEmail: boolean
  values: ShareTexts
  change: (changes: Partial<ShareTexts>) => void
}) {
  const passwordField = (
    <TextField
      label={isNew ? texts.password : texts.newPassword}
      description={isNew ? texts.passwordHelp : texts.newPasswordHelp}
      type="password"
      autoComplete="new-password"
      minLength={8}
      value={password}
      onChange={password => change({ password })}
    />
  )
  const limits = (
    <>
      {isForPeople && passwordField}
      <TextField
        label={kind === 'VIEW' ? texts.maxDownloads : texts.maxMegabytes}
        {...(kind === 'VIEW' && { description: texts.maxDownloadsHelp })}
        inputMode="numeric"
        pattern="[1-9][0-9]{0,8}"
        value={limit}
        onChange={limit => change({ limit })}
      />
      {kind === 'DROP' && (
        <TextField
          label={texts.fileTypes}
          description={texts.fileTypesHelp}
          value={fileTypes}
          onChange={fileTypes => change({ fileTypes })}
          autoComplete="off"
        />
      )}
    </>
  )
  return (
    <>
      {!isForPeople && passwordField}
      <TextField
        label={texts.lastDay}
        description={texts.lastDayHelp}
        type="date"
        value={lastDay}
        onChange={lastDay => change({ lastDay })}
        validate={day => (day && endOf(day) <= new Date() ? texts.futureDate : null)}
      />
      <TextField
        label={texts.note}
        value={note}
        onChange={note => change({ note })}
        maxLength={2000}
        autoComplete="off"
      />
      {kind === 'DROP' && sendsEmail && (
        <Checkbox isSelected={notify} onChange={notify => change({ notify })}>
          {texts.notify}
        </Checkbox>
      )}
      {isNew ? (
        <details className="share-limits">
          <summary>{isForPeople ? texts.passwordAndLimits : texts.moreOptions}</summary>
          {limits}
        </details>
      ) : (
        limits
      )}
    </>
  )
}

/** Returns the settings whose texts differ from the stored ones. */
export function changedSettings(kind: StoredShare['kind'], values: ShareTexts, stored: ShareTexts) {
  const { password, lastDay, note, limit, fileTypes, notify } = values
  const differs = (name: keyof ShareTexts) => values[name] !== stored[name]
  const types = fileTypes.split(',').flatMap(type => type.trim() || [])
  return {
    ...(password !== '' && { password }),
    ...(differs('lastDay') && { expiresAt: lastDay === '' ? null : endOf(lastDay).toISOString() }),
    ...(differs('note') && { note }),
    ...(kind === 'VIEW' && differs('limit') && { maxDownloads: limit === '' ? null : Number(limit) }),
    ...(kind === 'DROP' && differs('limit') && { maxBytes: limit === '' ? null : Number(limit) * megabyte }),
    ...(kind === 'DROP' && differs('fileTypes') && { fileTypes: types }),
    ...(kind === 'DROP' && differs('notify') && { notify }),
  }
}

/** The last day counts in full, in the time zone of the browser. */
function endOf(day: string): Date {
  return new Date(`${day}T23:59:59`)
}

function textsOf(share: StoredShare | null): ShareTexts {
  if (!share) return { password: '', lastDay: '', note: '', limit: '', fileTypes: '', notify: false }
  const { kind, note, expiresAt, maxDownloads, maxBytes, fileTypes, notify } = share
  const limit = kind === 'VIEW' ? maxDownloads : maxBytes && Math.ceil(maxBytes / megabyte)
  return {
    password: '',
    lastDay: expiresAt === null ? '' : dayOf(new Date(expiresAt)),
    note,
    limit: limit === null ? '' : String(limit),
    fileTypes: fileTypes.join(', '),
    notify,
  }
}

function dayOf(time: Date): string {
  const parts = [time.getFullYear(), time.getMonth() + 1, time.getDate()]
  return parts.map(part => String(part).padStart(2, '0')).join('-')
}
