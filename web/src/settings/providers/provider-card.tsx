import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from 'react-router'
import { ask } from '../../api/request.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Time } from '../../ui/time.tsx'
import { tell } from '../../ui/toasts.tsx'
import { type Provider, TestMutation } from './operations.ts'
import { QuotaBar } from './quota-bar.tsx'

const statuses = {
  CONNECTED: { title: 'Connected', badge: 'good', consent: null },
  NEEDS_AUTHORIZATION: { title: 'Needs consent', badge: 'warn', consent: 'Give consent' },
  NEEDS_RECONNECT: { title: 'Consent is gone', badge: 'bad', consent: 'Reconnect' },
  UNAVAILABLE: { title: 'Unavailable', badge: 'bad', consent: null },
} as const

export type ProviderAction = 'edit' | 'authorize' | 'disconnect'

export function ProviderCard({
  provider,
  onAction,
}: {
  provider: Provider
  onAction: (action: ProviderAction) => void
}) {
  const client = useQueryClient()
  const { id, name, type, status, statusReason, createdAt } = provider
  const { title, badge, consent } = statuses[status]
  const test = useMutation({
    mutationFn: () => ask(TestMutation, { id }),
    onSuccess: ({ testProvider }) => {
      if (testProvider.status === 'CONNECTED') tell(`“${name}” works`)
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['providers'] }),
  })
  const nameId = `provider-${id}`
  return (
    <section className="card" aria-labelledby={nameId}>
      <div className="provider-head">
        <h2 id={nameId}>
          <Link to={`/files/${id}`}>{name}</Link>
        </h2>
        <span className={`badge ${badge}`}>{title}</span>
        <span className="help">
          {type.title}, connected <Time at={createdAt} as="distance" />
        </span>
      </div>
      {status === 'NEEDS_AUTHORIZATION' ? (
        <p>Somebody has to give consent before it can be used.</p>
      ) : (
        statusReason && <p>{statusReason}</p>
      )}
      {status === 'CONNECTED' && <QuotaBar providerId={id} />}
      {test.error && <ErrorBox error={test.error} />}
      <div className="provider-actions">
        {consent !== null && (
          <Button variant="primary" onPress={() => onAction('authorize')} aria-describedby={nameId}>
            {consent}
          </Button>
        )}
        <Button onPress={() => test.mutate()} isPending={test.isPending} aria-describedby={nameId}>
          {test.isPending ? 'Testing …' : 'Test'}
        </Button>
        <Button onPress={() => onAction('edit')} aria-describedby={nameId}>
          Edit
        </Button>
        <Button variant="danger" onPress={() => onAction('disconnect')} aria-describedby={nameId}>
          Disconnect
        </Button>
      </div>
    </section>
  )
}
