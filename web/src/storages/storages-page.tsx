import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'react-router'
import { queryKeys } from '../api/query-keys.ts'
import { ask } from '../api/request.ts'
import { usePermissions } from '../api/use-session.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/storages.tsx'
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
    <AdminOnly title={texts.storages}>
      <Storages />
    </AdminOnly>
  )
}

function Storages() {
  const { isUnrestricted } = usePermissions()
  const { data, error, refetch } = useQuery({
    queryKey: [...queryKeys.providers, 'managed'],
    queryFn: ({ signal }) => ask(ManagedProvidersQuery, {}, { signal }),
    // The status follows what the calls of everybody show.
    refetchInterval: 15_000,
  })
  const [open, setOpen] = useState<{ action: StorageAction; provider: ManagedProvider } | null>(null)
  return (
    <>
      <div className="page-head">
        <h1>{texts.storages}</h1>
        {isUnrestricted && (
          <Link className="button primary" to="/connect">
            {texts.addStorage}
          </Link>
        )}
      </div>
      <p className="help">{texts.storagesHelp}</p>
      {error && <ErrorBox error={error} retry={refetch} />}
      {!error && !data && <Loading label={texts.loadingStorages} />}
      {data?.providers.length === 0 && (
        <div className="empty">
          <p>{texts.noStorage}</p>
          <p>{texts.noStorageHelp}</p>
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
        title={texts.disconnectTitle(provider.name)}
        action={texts.disconnect}
        onConfirm={async () => {
          await ask(DisconnectMutation, { id: provider.id })
          await reload()
        }}
        onClose={onClose}
      >
        <p>{texts.disconnectHelp}</p>
        <p>{texts.disconnectAccess}</p>
      </Confirm>
    )
  }
  const finish = async () => {
    notify(texts.isConnected(provider.name))
    onClose()
    await reload()
  }
  return (
    <Dialog title={texts.authorizeTitle(provider.name)} onClose={onClose}>
      <Consent
        providerId={provider.id}
        vendor={provider.type.title}
        startUrl={null}
        onConnected={() => void finish()}
      />
      <div className="dialog-actions">
        <Button onPress={onClose}>{common.close}</Button>
      </div>
    </Dialog>
  )
}
