import { useMutation, useQueryClient } from '@tanstack/react-query'
import { ask } from '../../api/client.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { texts } from '../../texts/settings.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogEnd } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Time } from '../../ui/time.tsx'
import { DeliveriesQuery, type Delivery, ReplayMutation, TestWebhookMutation, type Webhook } from './operations.ts'

/** Milliseconds between two looks at the results. */
const refreshInterval = 2000

/** Lists the messages of a webhook with their results, and sends them again. */
export function DeliveriesDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const client = useQueryClient()
  const queryKey = queryKeys.deliveries(webhook.id)
  const { query, nodes: deliveries } = usePages(
    queryKey,
    async (after, signal) => (await ask(DeliveriesQuery, { id: webhook.id, after }, { signal })).webhook.deliveries,
    refreshInterval,
  )
  const reload = () => client.invalidateQueries({ queryKey })
  const test = useMutation({ mutationFn: () => ask(TestWebhookMutation, { id: webhook.id }), onSuccess: reload })
  const replay = useMutation({
    mutationFn: (deliveryIds: string[] | null) =>
      ask(ReplayMutation, { input: { webhookId: webhook.id, deliveryIds } }),
    onSuccess: reload,
  })
  const hasFailed = deliveries?.some(({ state }) => state === 'FAILED')
  return (
    <Dialog title={texts.deliveriesOf(webhook.name)} onClose={onClose} size="large">
      <div className="actions">
        <Button onPress={() => test.mutate()} isPending={test.isPending} isDisabled={!webhook.enabled}>
          {texts.sendTest}
        </Button>
        {hasFailed && (
          <Button onPress={() => replay.mutate(null)} isPending={replay.isPending} isDisabled={!webhook.enabled}>
            {texts.sendFailedAgain}
          </Button>
        )}
      </div>
      {!webhook.enabled && <p className="notice">{texts.nothingSent}</p>}
      {test.error && <ErrorBox error={test.error} />}
      {replay.error && <ErrorBox error={replay.error} />}
      <LoadState query={query} label={texts.loadingDeliveries} />
      {deliveries?.length === 0 && <p className="empty">{texts.noDeliveries}</p>}
      {deliveries && deliveries.length > 0 && (
        <div className="row-cards">
          <RowTable label={texts.deliveries} columns={[texts.event, texts.time, texts.result]}>
            {deliveries.map(delivery => (
              <Row
                key={delivery.id}
                delivery={delivery}
                isEnabled={webhook.enabled}
                onReplay={() => replay.mutate([delivery.id])}
              />
            ))}
          </RowTable>
        </div>
      )}
      <ShowMore query={query} />
      <DialogEnd onClose={onClose} />
    </Dialog>
  )
}

const badges = { PENDING: 'warn', DELIVERED: 'good', FAILED: 'bad' } as const

function Row({ delivery, isEnabled, onReplay }: { delivery: Delivery; isEnabled: boolean; onReplay: () => void }) {
  const { id, type, state, attempts, error, nextAttemptAt, occurredAt } = delivery
  const typeId = `delivery-${id}`
  return (
    <tr>
      <td>
        <code id={typeId}>{type}</code>
      </td>
      <td data-label={texts.time}>
        <Time at={occurredAt} as="distance" />
      </td>
      <td data-label={texts.result}>
        <span className={`badge ${badges[state]}`}>{texts.deliveryStates[state]}</span>
        {error && <div className="help">{error}</div>}
        {state === 'PENDING' && attempts > 0 && nextAttemptAt && (
          <div className="help">{texts.attempt(attempts + 1, <Time at={nextAttemptAt} as="distance" />)}</div>
        )}
      </td>
      <td className="actions-cell">
        {state !== 'PENDING' && (
          <div className="actions">
            <Button onPress={onReplay} isDisabled={!isEnabled} aria-describedby={typeId}>
              {texts.sendAgain}
            </Button>
          </div>
        )}
      </td>
    </tr>
  )
}
