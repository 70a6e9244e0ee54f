/** The page where a person switches notifications on for this device, and sees and removes the other browsers that get them. */
import { type UseMutationResult, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { ask } from '../api/client.ts'
import {
  choosePushEvents,
  NoPushService,
  type OwnPush,
  type PushDevice,
  type PushEventName,
  readPush,
  removePush,
  switchOnPush,
  TestPushMutation,
} from '../api/push.ts'
import { canPush, needsHomeScreen } from '../api/push-device.ts'
import { queryKeys } from '../api/query-keys.ts'
import { useSession } from '../api/session.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/notifications.ts'
import { texts as securityTexts } from '../texts/security.tsx'
import { texts as settingsTexts } from '../texts/settings.tsx'
import { Button } from '../ui/button.tsx'
import { Checkbox, Switch } from '../ui/choices.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { LoadState } from '../ui/loading.tsx'
import { PageTitle } from '../ui/page.tsx'
import { RowTable } from '../ui/row-table.tsx'
import { Time } from '../ui/time.tsx'
import { notify } from '../ui/toasts.tsx'
import { browserText } from './browser-name.ts'

const eventNames = Object.keys(texts.eventNames) as PushEventName[]

export function NotificationsPage() {
  const query = useQuery({ queryKey: queryKeys.push, queryFn: ({ signal }) => readPush(signal) })
  const { data } = query
  const title = useRef<HTMLHeadingElement>(null)
  return (
    <>
      <PageTitle>{texts.title}</PageTitle>
      <h1 ref={title} tabIndex={-1}>
        {texts.title}
      </h1>
      <p className="help">{texts.help}</p>
      <LoadState query={query} label={common.loading} />
      {data &&
        (data.publicKey === null ? (
          <p className="notice">{texts.off}</p>
        ) : (
          <>
            <ThisDevice publicKey={data.publicKey} push={data} />
            <Devices devices={data.devices} onLastRemoved={() => title.current?.focus()} />
          </>
        ))}
    </>
  )
}

/** Changes the notifications and reads them again. */
function useChange<Input>(change: (input: Input) => Promise<unknown>): UseMutationResult<unknown, Error, Input> {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSettled: () => client.invalidateQueries({ queryKey: queryKeys.push }),
  })
}

function ThisDevice({ publicKey, push }: { publicKey: string; push: OwnPush }) {
  const { current, sessionId } = push
  const { user } = useSession().viewer
  const change = useChange(async (isOn: boolean) => {
    if (isOn) await switchOnPush(publicKey, { userId: user.id, sessionId })
    else if (current) await removePush(current)
  })
  if (!canPush) return <p className="notice">{needsHomeScreen ? texts.installFirst : texts.unsupported}</p>
  const isDenied = Notification.permission === 'denied'
  const isOn = change.isPending ? change.variables : push.isOn
  return (
    <>
      {/* A switch that is disabled meanwhile would lose the focus. */}
      <Switch
        isSelected={isOn}
        isDisabled={isDenied}
        onChange={value => {
          if (!change.isPending) change.mutate(value)
        }}
      >
        {texts.onDevice}
      </Switch>
      {isDenied && <p className="notice">{texts.denied}</p>}
      {change.error &&
        (change.error instanceof NoPushService ? (
          <p className="error-box" role="alert">
            {texts.failed}
          </p>
        ) : (
          <ErrorBox error={change.error} />
        ))}
      {isOn && current && <Events device={current} sessionId={sessionId} />}
    </>
  )
}

function Events({ device, sessionId }: { device: PushDevice; sessionId: string }) {
  const { id, events } = device
  const { user } = useSession().viewer
  const update = useChange((events: PushEventName[]) =>
    choosePushEvents(device, events, { userId: user.id, sessionId }),
  )
  const test = useMutation({
    mutationFn: () => ask(TestPushMutation, { id }),
    onSuccess: () => notify(texts.testSent),
  })
  const chosen = update.isPending ? update.variables : events
  const error = update.error ?? test.error
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset brings its own border and legend */}
      <div role="group" aria-labelledby="push-events" className="push-events">
        <h2 id="push-events">{texts.events}</h2>
        {eventNames.map(event => (
          <Checkbox
            key={event}
            isSelected={chosen.includes(event)}
            onChange={isWanted =>
              update.mutate(eventNames.filter(each => (each === event ? isWanted : chosen.includes(each))))
            }
          >
            {texts.eventNames[event]}
          </Checkbox>
        ))}
      </div>
      {error && <ErrorBox error={error} />}
      <Button onPress={() => test.mutate()} isPending={test.isPending}>
        {texts.test}
      </Button>
    </>
  )
}

function Devices({ devices, onLastRemoved }: { devices: readonly PushDevice[]; onLastRemoved: () => void }) {
  const section = useRef<HTMLDivElement>(null)
  // The browser that was removed last, whose button leaves with it.
  const removed = useRef<{ id: string; index: number } | null>(null)
  const remove = useChange(async (device: PushDevice) => {
    await removePush(device)
    removed.current = { id: device.id, index: devices.findIndex(({ id }) => id === device.id) }
  })
  useEffect(() => {
    if (!removed.current || devices.some(({ id }) => id === removed.current?.id)) return
    const { index } = removed.current
    removed.current = null
    const buttons = section.current?.querySelectorAll<HTMLElement>('td button') ?? []
    const next = buttons[index] ?? buttons[index - 1]
    if (next) next.focus()
    else onLastRemoved()
  }, [devices, onLastRemoved])
  return (
    <div ref={section}>
      {devices.length > 0 && (
        <>
          <h2>{texts.devices}</h2>
          <RowTable label={texts.devices} columns={[settingsTexts.browser, securityTexts.added, texts.lastSent]}>
            {devices.map(device => (
              <DeviceRow
                key={device.id}
                device={device}
                isPending={remove.isPending && remove.variables.id === device.id}
                onRemove={() => remove.mutate(device)}
              />
            ))}
          </RowTable>
        </>
      )}
      {remove.error && <ErrorBox error={remove.error} />}
    </div>
  )
}

function DeviceRow({ device, isPending, onRemove }: { device: PushDevice; isPending: boolean; onRemove: () => void }) {
  const { id, userAgent, current, createdAt, lastUsedAt } = device
  const nameId = `device-${id}`
  return (
    <tr>
      <td id={nameId}>
        <div className="main-cell" title={userAgent ?? undefined}>
          {browserText(userAgent)}
        </div>
        {current && <span className="badge good">{settingsTexts.thisBrowser}</span>}
      </td>
      <td data-label={securityTexts.added}>
        <Time at={createdAt} />
      </td>
      <td data-label={texts.lastSent}>{lastUsedAt === null ? common.never : <Time at={lastUsedAt} as="distance" />}</td>
      <td className="actions-cell">
        <div className="actions">
          <Button variant="danger" onPress={onRemove} isPending={isPending} aria-describedby={nameId}>
            {common.remove}
          </Button>
        </div>
      </td>
    </tr>
  )
}
