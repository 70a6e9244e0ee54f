/** The protection of an entry, as part of its details: its lock and its hold, and the form for a new hold. */
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { ask } from '../api/client.ts'
import { graphql } from '../api/graphql.ts'
import { parentPath, type StorageLocation } from '../api/locations.ts'
import { usePermissions, useSession } from '../api/session.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/files.tsx'
import { formatMinute } from '../texts/format.ts'
import { Button } from '../ui/button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { submitting, TextField } from '../ui/field.tsx'
import { useRefreshFolder } from './listing.ts'

const EndLockMutation = graphql(`
  mutation EndLock($input: EndLockInput!) {
    endLock(input: $input) { path }
  }
`)

const CreateHoldMutation = graphql(`
  mutation CreateHold($input: CreateHoldInput!) {
    createHold(input: $input) { id }
  }
`)

const ReleaseHoldMutation = graphql(`
  mutation ReleaseHold($id: ID!) {
    releaseHold(id: $id) { id }
  }
`)

interface Lock {
  id: string
  path: string
  holderName: string | null
  holder: { id: string } | null
  expiresAt: string
}

interface Hold {
  id: string
  path: string
  until: string | null
  reason: string
  /** Whether only the content of the file is held, as with S3 Object Lock. */
  isObjectLock: boolean
}

interface Protected {
  location: StorageLocation
  lock: Lock | null
  hold: Hold | null
  /** Called after a change, to read the details again. */
  onChange: () => void
}

export function Protection({ location, lock, hold, onChange }: Protected) {
  const { isAdmin, isUnrestricted } = usePermissions()
  const { user } = useSession().viewer
  const refreshFolder = useRefreshFolder()
  const [isHolding, setIsHolding] = useState(false)
  const change = useMutation({
    mutationFn: (work: () => Promise<unknown>) => work(),
    onSuccess: () => setIsHolding(false),
    async onSettled() {
      onChange()
      await refreshFolder({ ...location, path: parentPath(location.path) })
    },
  })
  const folderOf = ({ path }: Lock | Hold) => (path === location.path ? null : path)
  const mayEndLock = isUnrestricted || lock?.holder?.id === user.id
  const mayRelease = hold?.until === null && isUnrestricted && user.role === 'OWNER'
  return (
    <>
      {lock && (
        <div className="details-fact">
          <dt>{texts.lock}</dt>
          <dd>
            <span>
              {texts.lockedUntil(lock.holderName, formatMinute(lock.expiresAt), folderOf(lock))}
              {mayEndLock && <span className="help"> {texts.endLockHelp}</span>}
            </span>
            {mayEndLock && (
              <Button
                isPending={change.isPending}
                onPress={() => change.mutate(() => ask(EndLockMutation, { input: { ...location, lockId: lock.id } }))}
              >
                {texts.endLock}
              </Button>
            )}
          </dd>
        </div>
      )}
      {(hold || isAdmin) && (
        <div className="details-fact">
          <dt>{texts.hold}</dt>
          <dd>
            {hold ? (
              <>
                <span>
                  {hold.isObjectLock
                    ? texts.lockedObject(hold.until && formatMinute(hold.until))
                    : texts.heldUntil(hold.until && formatMinute(hold.until), folderOf(hold))}{' '}
                  {texts.holdReason(hold.reason)}
                </span>
                {mayRelease && (
                  <Button
                    isPending={change.isPending}
                    onPress={() => change.mutate(() => ask(ReleaseHoldMutation, { id: hold.id }))}
                  >
                    {texts.releaseHold}
                  </Button>
                )}
              </>
            ) : isHolding ? (
              <HoldForm
                isPending={change.isPending}
                onSubmit={input => change.mutate(() => ask(CreateHoldMutation, { input: { ...location, ...input } }))}
                onCancel={() => setIsHolding(false)}
              />
            ) : (
              <>
                <span>{texts.noHold}</span>
                <Button onPress={() => setIsHolding(true)}>{texts.newHold}</Button>
              </>
            )}
          </dd>
        </div>
      )}
      {change.error && <ErrorBox error={change.error} />}
    </>
  )
}

function HoldForm({
  isPending,
  onSubmit,
  onCancel,
}: {
  isPending: boolean
  onSubmit: (input: { reason: string; until: string | null }) => void
  onCancel: () => void
}) {
  const [reason, setReason] = useState('')
  const [lastDay, setLastDay] = useState('')
  const endOfDay = (day: string) => new Date(`${day}T23:59:59`)
  return (
    <Form
      className="hold-form"
      onSubmit={submitting(() => onSubmit({ reason, until: lastDay === '' ? null : endOfDay(lastDay).toISOString() }))}
    >
      <TextField label={texts.reason} value={reason} onChange={setReason} isRequired maxLength={500} autoFocus />
      <TextField
        label={texts.holdLastDay}
        description={texts.holdLastDayHelp}
        type="date"
        value={lastDay}
        onChange={setLastDay}
        validate={day => (day && endOfDay(day) <= new Date() ? texts.holdFutureDate : null)}
      />
      <div className="actions">
        <Button onPress={onCancel}>{common.cancel}</Button>
        <Button type="submit" variant="primary" isPending={isPending}>
          {texts.createHold}
        </Button>
      </div>
    </Form>
  )
}
