/** Storages, as administrators connect, change and disconnect them. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ComponentProps, useState } from 'react'
import { Link } from 'react-router'
import { ask } from '../api/client.ts'
import { queryKeys } from '../api/query-keys.ts'
import { usePermissions } from '../api/session.ts'
import { common } from '../texts/common.ts'
import { texts as encryptionTexts } from '../texts/encryption.ts'
import { formatBytes } from '../texts/format.ts'
import { texts as quotaTexts } from '../texts/quotas.ts'
import { texts } from '../texts/storages.tsx'
import { Button } from '../ui/button.tsx'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { ErrorBox, errorMessage } from '../ui/error-box.tsx'
import { IndexState } from '../ui/index-state.tsx'
import { LoadState } from '../ui/loading.tsx'
import { AdminOnly, PageHead } from '../ui/page.tsx'
import { providerStatuses, statusHelp } from '../ui/provider-status.ts'
import { QuotaBars } from '../ui/quota-bars.tsx'
import { QuotaDialog } from '../ui/quota-dialog.tsx'
import { SpaceMeter } from '../ui/space-meter.tsx'
import { StorageLogo } from '../ui/storage-logo.tsx'
import { Time } from '../ui/time.tsx'
import { notify } from '../ui/toasts.tsx'
import { Consent } from './consent.tsx'
import { EditDialog } from './edit-dialog.tsx'
import {
  DisconnectMutation,
  type ManagedProvider,
  ManagedProvidersQuery,
  QuotaQuery,
  TestMutation,
} from './operations.ts'

export function StoragesPage() {
  return (
    <AdminOnly title={texts.storages}>
      <Storages />
    </AdminOnly>
  )
}

function Storages() {
  const { isUnrestricted } = usePermissions()
  const query = useQuery({
    queryKey: [...queryKeys.providers, 'managed'],
    queryFn: ({ signal }) => ask(ManagedProvidersQuery, {}, { signal }),
    // The status follows what the calls of everybody show.
    refetchInterval: 15_000,
  })
  const providers = query.data?.providers
  const [open, setOpen] = useState<{ action: StorageAction; provider: ManagedProvider } | null>(null)
  return (
    <>
      <PageHead title={texts.storages}>
        {isUnrestricted && (
          <Link className="button primary" to="/connect">
            {texts.addStorage}
          </Link>
        )}
      </PageHead>
      <p className="help">{texts.storagesHelp}</p>
      <LoadState query={query} label={texts.loadingStorages} />
      {providers?.length === 0 && (
        <div className="empty">
          <p>{texts.noStorage}</p>
          <p>{texts.noStorageHelp}</p>
        </div>
      )}
      {providers?.map(provider => (
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
  if (action === 'quota') return <StorageQuota provider={provider} onSaved={reload} onClose={onClose} />
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

/** The dialog appears once the present quota is known. */
function StorageQuota({
  provider: { id, name },
  ...props
}: Pick<ComponentProps<typeof QuotaDialog>, 'onSaved' | 'onClose'> & { provider: ManagedProvider }) {
  const { data } = useSpace(id)
  if (!data) return null
  return <QuotaDialog name={name} subject={{ providerId: id }} quota={data.provider.quotaRule} {...props} />
}

function useSpace(providerId: string) {
  return useQuery({
    queryKey: [...queryKeys.providers, providerId, 'quota'],
    queryFn: ({ signal }) => ask(QuotaQuery, { id: providerId }, { signal }),
    staleTime: 60_000,
    // Until the server has counted everything.
    refetchInterval: ({ state }) => (state.data?.provider.quotaRule?.isExact === false ? 2000 : false),
  })
}

/** Shows how much space is used, or says that the back end does not report it; and the quota of the storage. */
function SpaceState({ providerId, isDisk }: { providerId: string; isDisk: boolean }) {
  const { data, error } = useSpace(providerId)
  if (error) return <p className="help">{texts.usageFailed(errorMessage(error))}</p>
  if (!data) return null
  const { quota, quotaRule } = data.provider
  return (
    <>
      <UsedSpace used={quota?.used ?? null} total={quota?.total ?? null} isDisk={isDisk} />
      {quotaRule && <QuotaBars quota={quotaRule} />}
    </>
  )
}

function UsedSpace({ used, total, isDisk }: { used: number | null; total: number | null; isDisk: boolean }) {
  if (used === null) return <p className="help">{texts.noUsage}</p>
  const amount = formatBytes(used)
  if (total === null || total === 0) return <p className="help">{texts.used(amount)}</p>
  // A disk also holds files outside of the folder.
  const limit = formatBytes(total)
  const text = isDisk ? texts.usedOfDisk(amount, limit) : texts.usedOf(amount, limit)
  return <SpaceMeter label={texts.usedSpace} text={text} used={used} limit={total} />
}

type StorageAction = 'edit' | 'quota' | 'authorize' | 'disconnect'

function StorageCard({ provider, onAction }: { provider: ManagedProvider; onAction: (action: StorageAction) => void }) {
  const client = useQueryClient()
  const { isUnrestricted } = usePermissions()
  const { id, name, type, status, createdAt, encryption } = provider
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
        <StorageLogo type={type.type} />
        <h2 id={nameId}>
          <Link to={`/files/${id}`}>{name}</Link>
        </h2>
        <span className={`badge ${badge}`}>{title}</span>
        {encryption && <span className="badge">{encryptionTexts.encrypted}</span>}
        <span className="help">{texts.connectedAgo(type.title, <Time at={createdAt} as="distance" />)}</span>
      </div>
      {help && <p>{help}</p>}
      {encryption && <p className="help">{encryptionTexts.encryptedAs[encryption.names]}</p>}
      {status === 'UNAVAILABLE' && <p className="help">{texts.unavailableHelp}</p>}
      {status === 'CONNECTED' && <SpaceState providerId={id} isDisk={type.type === 'local'} />}
      <IndexState providerId={id} isDetailed />
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
        {isUnrestricted && status === 'CONNECTED' && (
          <Button onPress={() => onAction('quota')} aria-describedby={nameId}>
            {quotaTexts.quota}
          </Button>
        )}
        <Button variant="danger" onPress={() => onAction('disconnect')} aria-describedby={nameId}>
          {texts.disconnect}
        </Button>
      </div>
    </section>
  )
}
