/** The trash of a storage: its page, and restoring what a person has just deleted. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { Link, Navigate, NavLink, useParams } from 'react-router'
import { ask } from '../../api/client.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { usePermissions } from '../../api/session.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { common } from '../../texts/common.ts'
import { texts as fileTexts } from '../../texts/files.tsx'
import { formatBytes } from '../../texts/format.ts'
import { texts as restoreTexts } from '../../texts/restore.ts'
import { texts } from '../../texts/trash.tsx'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Icon } from '../../ui/icons.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { PageHead } from '../../ui/page.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import { StorageLogo } from '../../ui/storage-logo.tsx'
import { Time } from '../../ui/time.tsx'
import { notify } from '../../ui/toasts.tsx'
import { folderHref, trashHref } from '../addresses.ts'
import { EntryIcon } from '../entry-icon.tsx'
import '../files.css'
import { useProviders } from '../listing.ts'
import type { Provider } from '../operations.ts'
import { emptyTrash, restore, type TrashedItem, TrashQuery, useStorageTrash } from './operations.ts'
import './trash.css'

const RestoreFolderDialog = lazyPart(async () => (await import('../restore/restore-dialog.tsx')).RestoreFolderDialog)

/** Opens the trash of the first storage. */
export function FirstTrash() {
  const query = useProviders()
  const [first] = query.data ?? []
  if (first) return <Navigate to={trashHref(first.id)} replace />
  return (
    <main className="page">
      <h1>{texts.trash}</h1>
      {query.data ? <p>{texts.noStorage}</p> : <LoadState query={query} label={texts.loading} />}
    </main>
  )
}

/** Lists the deleted files of the storage that the address names, restores them and empties the trash. */
export function TrashPage() {
  const { providerId = '' } = useParams()
  const { canWrite } = usePermissions()
  const query = useProviders()
  const { data: providers } = query
  const provider = providers?.find(({ id }) => id === providerId)
  if (provider && canWrite) return <Trash key={provider.id} provider={provider} providers={providers ?? []} />
  return (
    <main className="page">
      <h1>{providers ? fileTexts.storageNotFound : texts.trash}</h1>
      {!providers && <LoadState query={query} label={texts.loading} />}
    </main>
  )
}

function Trash({ provider: { id, name, root }, providers }: { provider: Provider; providers: readonly Provider[] }) {
  const client = useQueryClient()
  const [isEmptying, setEmptying] = useState(false)
  const [isRestoring, setRestoring] = useState(false)
  const { data: trash } = useStorageTrash(id)
  const { query, nodes: items } = usePages(
    [...queryKeys.trash, id],
    async (after, signal) => (await ask(TrashQuery, { providerId: id, after }, { signal })).trash,
  )
  const reload = () => client.invalidateQueries({ queryKey: [...queryKeys.trash, id] })
  return (
    <main className="page">
      <PageHead title={texts.trashOf(name)}>
        <Button onPress={() => setRestoring(true)}>
          <Icon name="history" />
          {restoreTexts.restoreStorage}
        </Button>
        {items && items.length > 0 && (
          <Button variant="danger" onPress={() => setEmptying(true)}>
            {texts.emptyTrash}
          </Button>
        )}
      </PageHead>
      <StorageTabs providers={providers} />
      <p>{texts.backTo(<Link to={folderHref(id, root.path)}>{name}</Link>)}</p>
      <LoadState query={query} label={texts.loading} />
      {items?.length === 0 && (
        <div className="empty">
          <Icon name="trash" />
          <p className="empty-title">{texts.empty}</p>
          {trash && <p>{texts.emptyHelp(trash.days)}</p>}
        </div>
      )}
      {items && items.length > 0 && (
        <ul className="trash-list" aria-label={texts.trashOf(name)}>
          {items.map(item => (
            <Row key={item.id} item={item} onRestored={reload} />
          ))}
        </ul>
      )}
      <ShowMore query={query} />
      {isRestoring && (
        <Suspense>
          <RestoreFolderDialog
            folder={{ providerId: id, path: root.path }}
            storage={name}
            onClose={() => setRestoring(false)}
          />
        </Suspense>
      )}
      {isEmptying && (
        <Confirm
          title={texts.emptyTitle}
          action={texts.emptyTrash}
          onConfirm={async () => {
            await emptyTrash(id)
            notify(texts.emptied)
            await reload()
          }}
          onClose={() => setEmptying(false)}
        >
          <p>
            {texts.emptyWarning} {common.cannotUndo}
          </p>
        </Confirm>
      )}
    </main>
  )
}

/** Each storage has its own trash. */
function StorageTabs({ providers }: { providers: readonly Provider[] }) {
  const storages = [...new Map(providers.map(provider => [provider.id, provider])).values()]
  if (storages.length < 2) return null
  return (
    <nav className="tabs" aria-label={fileTexts.storages}>
      {storages.map(({ id, name, type }) => (
        <NavLink key={id} to={trashHref(id)} className="tab">
          <StorageLogo type={type.type} />
          <bdi>{name}</bdi>
        </NavLink>
      ))}
    </nav>
  )
}

function Row({ item, onRestored }: { item: TrashedItem; onRestored: () => Promise<unknown> }) {
  const client = useQueryClient()
  const { id, kind, name, originalPath, size, deletedAt, deletedBy, expiresAt } = item
  const again = useMutation({
    mutationFn: () => restore(id),
    async onSuccess(path) {
      notify(texts.restored(path))
      await Promise.all([onRestored(), client.invalidateQueries({ queryKey: ['listing'] })])
    },
  })
  const nameId = `trashed-${id}`
  const time = <Time at={deletedAt} as="distance" />
  return (
    <li className="trash-item">
      <EntryIcon
        entry={kind === 'FOLDER' ? { __typename: 'Folder', name } : { __typename: 'File', name, mimeType: null }}
      />
      <div className="trash-facts">
        <span id={nameId} dir="auto">
          {name}
        </span>
        <span className="help mono">{originalPath}</span>
        <span className="help">
          {texts.deletedBy(time, deletedBy && (deletedBy.name ?? deletedBy.email))}
          {size !== null && ` · ${formatBytes(size)}`} · {texts.keptUntil(<Time at={expiresAt} />)}
        </span>
        {again.error && <ErrorBox error={again.error} />}
      </div>
      <Button onPress={() => again.mutate()} isPending={again.isPending} aria-describedby={nameId}>
        {texts.restore}
      </Button>
    </li>
  )
}
