import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'react-router'
import { queryKeys } from '../api/query-keys.ts'
import { ask } from '../api/request.ts'
import { usePermissions } from '../api/use-session.ts'
import { AdminOnly } from '../ui/admin-only.tsx'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { Loading } from '../ui/loading.tsx'
import { notify } from '../ui/toasts.tsx'
import { Consent } from './consent.tsx'
import { EditDialog } from './edit-dialog.tsx'
import { DisconnectMutation, type ManagedProvider, ManagedProvidersQuery } from './operations.ts'
import { type StorageAction, StorageCard } from './storage-card.tsx'

export function StoragesPage() {
  return (
    <AdminOnly title="Storages">
      <Storages />
    </AdminOnly>
  )
}

function Storages() {
  const { canConnect } = usePermissions()
  const { data, error, refetch } = useQuery({
    queryKey: [...queryKeys.providers, 'managed'],
    queryFn: ({ signal }) => ask(ManagedProvidersQuery, {}, { signal }),
  })
  const [open, setOpen] = useState<{ action: StorageAction; provider: ManagedProvider } | null>(null)
  return (
    <>
      <div className="page-head">
        <h1>Storages</h1>
        {canConnect && (
          <Link className="button primary" to="/connect">
            Connect a storage
          </Link>
        )}
      </div>
      <p className="help">The storages that hold the files of this workspace.</p>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!error && !data && <Loading label="Loading the storages" />}
      {data?.providers.length === 0 && (
        <div className="empty">
          <p>No storage is connected yet.</p>
          <p>Connect one to give the workspace its first files.</p>
        </div>
      )}
      {data?.providers.map(provider => (
        <StorageCard key={provider.id} provider={provider} onAction={action => setOpen({ action, provider })} />
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
  action: StorageAction
  provider: ManagedProvider
  onClose: () => void
}) {
  const client = useQueryClient()
  const reload = () => client.invalidateQueries({ queryKey: queryKeys.providers })
  if (action === 'edit') return <EditDialog provider={provider} onSaved={reload} onClose={onClose} />
  if (action === 'disconnect') {
    return (
      <Confirm
        title={`Disconnect “${provider.name}”?`}
        action="Disconnect"
        onConfirm={async () => {
          await ask(DisconnectMutation, { id: provider.id })
          await reload()
        }}
        onClose={onClose}
      >
        <p>
          The files are not affected: they stay where they are stored. Nobody can access them through Stowage any more,
          and the stored credentials and consent are deleted.
        </p>
        <p>Keys and members that are limited to this storage lose access to it, even if you connect it again.</p>
      </Confirm>
    )
  }
  const finish = async () => {
    notify(`“${provider.name}” is connected`)
    onClose()
    await reload()
  }
  return (
    <Dialog title={`Give consent for “${provider.name}”`} onClose={onClose}>
      <Consent
        providerId={provider.id}
        vendor={provider.type.title}
        startUrl={null}
        onConnected={() => void finish()}
      />
      <div className="dialog-actions">
        <Button onPress={onClose}>Close</Button>
      </div>
    </Dialog>
  )
}
