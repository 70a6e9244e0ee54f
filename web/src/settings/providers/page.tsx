import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'react-router'
import { ask } from '../../api/request.ts'
import { useScopes } from '../../app/use-session.ts'
import { Consent } from '../../connect/consent.tsx'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Loading } from '../../ui/loading.tsx'
import { tell } from '../../ui/toasts.tsx'
import { AdminOnly } from '../admin-only.tsx'
import { EditDialog } from './edit-dialog.tsx'
import { DisconnectMutation, type Provider, ProvidersQuery } from './operations.ts'
import { type ProviderAction, ProviderCard } from './provider-card.tsx'

export function ProvidersPage() {
  return (
    <AdminOnly title="Providers">
      <Providers />
    </AdminOnly>
  )
}

function Providers() {
  const { reachesAll } = useScopes()
  const { data, error, refetch } = useQuery({
    queryKey: ['providers', 'managed'],
    queryFn: ({ signal }) => ask(ProvidersQuery, {}, { signal }),
  })
  const [open, setOpen] = useState<{ action: ProviderAction; provider: Provider } | null>(null)
  return (
    <>
      <div className="page-head">
        <h1>Providers</h1>
        {reachesAll && (
          <Link className="button primary" to="/connect">
            Connect a storage
          </Link>
        )}
      </div>
      <p className="help">The places where the files of this workspace are kept.</p>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!error && !data && <Loading label="Loading the providers" />}
      {data?.providers.length === 0 && (
        <div className="empty">
          <p>No storage is connected yet.</p>
          <p>Start with “Connect a storage”.</p>
        </div>
      )}
      {data?.providers.map(provider => (
        <ProviderCard key={provider.id} provider={provider} onAction={action => setOpen({ action, provider })} />
      ))}
      {open && <ActionDialog {...open} onClose={() => setOpen(null)} />}
    </>
  )
}

function ActionDialog({
  action,
  provider,
  onClose,
}: {
  action: ProviderAction
  provider: Provider
  onClose: () => void
}) {
  const client = useQueryClient()
  const reload = () => client.invalidateQueries({ queryKey: ['providers'] })
  if (action === 'edit') return <EditDialog provider={provider} onSaved={reload} onClose={onClose} />
  if (action === 'disconnect') {
    return (
      <Confirm
        title={`Disconnect “${provider.name}”?`}
        action="Disconnect"
        act={async () => {
          await ask(DisconnectMutation, { id: provider.id })
          await reload()
        }}
        onClose={onClose}
      >
        <p>
          Nothing happens to the files: they stay where they are stored. But nobody reaches them through Stowage any
          more, and its credentials and consent are forgotten.
        </p>
        <p>Keys and members that were limited to it lose it for good, even when it is connected again.</p>
      </Confirm>
    )
  }
  const done = async () => {
    tell(`“${provider.name}” is connected`)
    onClose()
    await reload()
  }
  return (
    <Dialog title={`Give consent for “${provider.name}”`} onClose={onClose}>
      <Consent providerId={provider.id} vendor={provider.type.title} startUrl={null} onConnected={() => void done()} />
      <div className="dialog-actions">
        <Button onPress={onClose}>Close</Button>
      </div>
    </Dialog>
  )
}
