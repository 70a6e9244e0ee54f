/** The notifications of the person: on this device, and the other browsers that get them. */
import { type UseMutationResult, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ask } from '../api/client.ts'
import {
  choosePushEvents,
  NoPushService,
  type PushDevice,
  type PushEventName,
  PushQuery,
  switchOffPush,
  switchOnPush,
  TestPushMutation,
  UnsubscribeMutation,
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
  const query = useQuery({ queryKey: queryKeys.push, queryFn: ({ signal }) => ask(PushQuery, {}, { signal }) })
  const { data } = query
  return (
    <>
      <PageTitle>{texts.title}</PageTitle>
      <h1>{texts.title}</h1>
      <p className="help">{texts.help}</p>
      <LoadState query={query} label={common.loading} />
      {data &&
        (data.pushPublicKey === null ? (
          <p className="notice">{texts.off}</p>
        ) : (
          <>
            <ThisDevice publicKey={data.pushPublicKey} device={data.pushSubscriptions.find(({ current }) => current)} />
            {data.pushSubscriptions.length > 0 && <Devices devices={data.pushSubscriptions} />}
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

function ThisDevice({ publicKey, device }: { publicKey: string; device: PushDevice | undefined }) {
  const { user } = useSession().viewer
  const change = useChange(async (isOn: boolean) => {
    if (isOn) await switchOnPush(publicKey, user.id)
    else if (device) await switchOffPush(device)
  })
  if (!canPush) return <p className="notice">{needsHomeScreen ? texts.installFirst : texts.unsupported}</p>
  const isDenied = Notification.permission === 'denied'
  const isOn = change.isPending ? change.variables : device !== undefined && Notification.permission === 'granted'
  return (
    <>
      <Switch isSelected={isOn} isDisabled={isDenied || change.isPending} onChange={value => change.mutate(value)}>
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
      {isOn && device && <Events device={device} />}
    </>
  )
}

function Events({ device }: { device: PushDevice }) {
  const { id, events } = device
  const { user } = useSession().viewer
  const update = useChange((events: PushEventName[]) => choosePushEvents(device, events, user.id))
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

function Devices({ devices }: { devices: readonly PushDevice[] }) {
  const remove = useChange(async ({ id, current }: PushDevice) => {
    if (current) await switchOffPush({ id })
    else await ask(UnsubscribeMutation, { id })
  })
  return (
    <>
      <h2>{texts.devices}</h2>
      <RowTable label={texts.devices} columns={[settingsTexts.browser, securityTexts.added, securityTexts.lastUsed]}>
        {devices.map(device => (
          <DeviceRow key={device.id} device={device} onRemove={() => remove.mutate(device)} />
        ))}
      </RowTable>
      {remove.error && <ErrorBox error={remove.error} />}
    </>
  )
}

function DeviceRow({ device, onRemove }: { device: PushDevice; onRemove: () => void }) {
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
      <td data-label={securityTexts.lastUsed}>
        {lastUsedAt === null ? common.never : <Time at={lastUsedAt} as="distance" />}
      </td>
      <td className="actions-cell">
        <div className="actions">
          <Button variant="danger" onPress={onRemove} aria-describedby={nameId}>
            {common.remove}
          </Button>
        </div>
      </td>
    </tr>
  )
}
