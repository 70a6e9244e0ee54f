import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from 'react-router'
import { queryKeys } from '../api/query-keys.ts'
import { ask } from '../api/request.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/storages.tsx'
import { Button } from '../ui/button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { providerStatuses, statusHelp } from '../ui/provider-status.ts'
import { Time } from '../ui/time.tsx'
import { notify } from '../ui/toasts.tsx'
import { type ManagedProvider, TestMutation } from './operations.ts'
import { QuotaBar } from './quota-bar.tsx'

export type StorageAction = 'edit' | 'authorize' | 'disconnect'

export function StorageCard({
  provider,
  onAction,
}: {
  provider: ManagedProvider
  onAction: (action: StorageAction) => void
}) {
  const client = useQueryClient()
  const { id, name, type, status, createdAt } = provider
  const { title, badge, consentLabel } = providerStatuses[status]
  const help = statusHelp(provider)
  const test = useMutation({
    mutationFn: () => ask(TestMutation, { id }),
    onSuccess: ({ testProvider }) => {
      if (testProvider.status === 'CONNECTED') notify(texts.works(name))
    },
    onSettled: () => client.invalidateQueries({ queryKey: queryKeys.providers }),
  })
  const nameId = `provider-${id}`
  return (
    <section className="card" aria-labelledby={nameId}>
      <div className="provider-head">
        <h2 id={nameId}>
          <Link to={`/files/${id}`}>{name}</Link>
        </h2>
        <span className={`badge ${badge}`}>{title}</span>
        <span className="help">{texts.connectedAgo(type.title, <Time at={createdAt} as="distance" />)}</span>
      </div>
      {help && <p>{help}</p>}
      {status === 'UNAVAILABLE' && <p className="help">{texts.unavailableHelp}</p>}
      {status === 'CONNECTED' && <QuotaBar providerId={id} isDisk={type.type === 'local'} />}
      {test.error && <ErrorBox error={test.error} />}
      <div className="provider-actions">
        {consentLabel !== null && (
          <Button variant="primary" onPress={() => onAction('authorize')} aria-describedby={nameId}>
            {consentLabel}
          </Button>
        )}
        <Button onPress={() => test.mutate()} isPending={test.isPending} aria-describedby={nameId}>
          {test.isPending ? texts.testing : texts.test}
        </Button>
        <Button onPress={() => onAction('edit')} aria-describedby={nameId}>
          {common.edit}
        </Button>
        <Button variant="danger" onPress={() => onAction('disconnect')} aria-describedby={nameId}>
          {texts.disconnect}
        </Button>
      </div>
    </section>
  )
}
