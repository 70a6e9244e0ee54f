import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { queryKeys } from '../../api/query-keys.ts'
import { ask } from '../../api/request.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { RowTable } from '../../ui/row-table.tsx'
import { Time } from '../../ui/time.tsx'
import { DeliveriesQuery, type Delivery, ReplayMutation, TestWebhookMutation, type Webhook } from './operations.ts'

/** Milliseconds between two looks at the results. */
const refreshInterval = 2000

/** Lists the messages of a webhook with their results, and sends them again. */
export function DeliveriesDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const client = useQueryClient()
  const queryKey = queryKeys.deliveries(webhook.id)
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey,
    queryFn: ({ signal, pageParam }) => ask(DeliveriesQuery, { id: webhook.id, after: pageParam }, { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ webhook: { deliveries } }) =>
      deliveries.pageInfo.hasNextPage ? deliveries.pageInfo.endCursor : null,
    refetchInterval: refreshInterval,
  })
  const reload = () => client.invalidateQueries({ queryKey })
  const test = useMutation({ mutationFn: () => ask(TestWebhookMutation, { id: webhook.id }), onSuccess: reload })
  const replay = useMutation({
    mutationFn: (deliveryIds: string[] | null) =>
      ask(ReplayMutation, { input: { webhookId: webhook.id, deliveryIds } }),
    onSuccess: reload,
  })
  const deliveries = data?.pages.flatMap(({ webhook: { deliveries } }) => deliveries.nodes)
  const hasFailed = deliveries?.some(({ state }) => state === 'FAILED')
  return (
    <Dialog title={`Deliveries of “${webhook.name}”`} onClose={onClose} size="large">
      <div className="actions">
        <Button onPress={() => test.mutate()} isPending={test.isPending} isDisabled={!webhook.enabled}>
          Send a test
        </Button>
        {hasFailed && (
          <Button onPress={() => replay.mutate(null)} isPending={replay.isPending} isDisabled={!webhook.enabled}>
            Send all failed again
          </Button>
        )}
      </div>
      {!webhook.enabled && <p className="notice">The webhook is disabled, so nothing is sent.</p>}
      {[error, test.error, replay.error].map(
        each => each && <ErrorBox key={each.message} error={each} retry={each === error ? refetch : undefined} />,
      )}
      {!error && !deliveries && <Loading label="Loading the deliveries" />}
      {deliveries?.length === 0 && <p className="empty">Nothing was sent yet.</p>}
      {deliveries && deliveries.length > 0 && (
        <div className="row-cards">
          <RowTable label="Deliveries" columns={['Event', 'Time', 'Result']}>
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
      {hasNextPage && (
        <Button onPress={() => void fetchNextPage()} isPending={isFetchingNextPage}>
          Show more
        </Button>
      )}
      <div className="dialog-actions">
        <Button variant="primary" onPress={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  )
}

const states = {
  PENDING: { title: 'Waiting', badge: 'warn' },
  DELIVERED: { title: 'Delivered', badge: 'good' },
  FAILED: { title: 'Failed', badge: 'bad' },
} as const

function Row({ delivery, isEnabled, onReplay }: { delivery: Delivery; isEnabled: boolean; onReplay: () => void }) {
  const { id, type, state, attempts, error, nextAttemptAt, occurredAt } = delivery
  const typeId = `delivery-${id}`
  return (
    <tr>
      <td>
        <code id={typeId}>{type}</code>
      </td>
      <td data-label="Time">
        <Time at={occurredAt} as="distance" />
      </td>
      <td data-label="Result">
        <span className={`badge ${states[state].badge}`}>{states[state].title}</span>
        {error && <div className="help">{error}</div>}
        {state === 'PENDING' && attempts > 0 && nextAttemptAt && (
          <div className="help">
            Attempt {attempts + 1}: <Time at={nextAttemptAt} as="distance" />
          </div>
        )}
      </td>
      <td className="actions-cell">
        {state !== 'PENDING' && (
          <div className="actions">
            <Button onPress={onReplay} isDisabled={!isEnabled} aria-describedby={typeId}>
              Send again
            </Button>
          </div>
        )}
      </td>
    </tr>
  )
}
