/** One version of a file: its content or what differs from another version, and what can be done with it. */
import { type ReactNode, Suspense, useState } from 'react'
import { nameOfPath, type StorageLocation } from '../../api/locations.ts'
import { usePermissions } from '../../api/session.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { save } from '../../lib/save-file.ts'
import { common } from '../../texts/common.ts'
import { formatBytes } from '../../texts/format.ts'
import { texts } from '../../texts/versions.tsx'
import { Button } from '../../ui/button.tsx'
import { Choices } from '../../ui/choices.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Loading } from '../../ui/loading.tsx'
import { Select } from '../../ui/select.tsx'
import { Time } from '../../ui/time.tsx'
import { notify } from '../../ui/toasts.tsx'
import { onThisOrigin } from '../operations.ts'
import { ContentView } from '../preview/content-view.tsx'
import { viewerKind } from '../preview/file-types.ts'
import { type ContentLocation, earlierFile } from '../preview/source.ts'
import { deleteVersion, type FileVersion, restoreVersion, useVersionTraits } from './operations.ts'
import type { ComparedText } from './text-diff.tsx'
import { nameOfVersion, Replaced } from './version-list.tsx'

const TextDiffView = lazyPart(async () => (await import('./text-diff.tsx')).TextDiffView)

const views = (['content', 'changes'] as const).map(value => ({ value, title: texts.views[value] }))

export function VersionView({
  file,
  version,
  versions,
  onChanged,
}: {
  file: StorageLocation
  version: FileVersion
  /** All that are listed, the newest first. */
  versions: readonly FileVersion[]
  onChanged: () => Promise<unknown>
}) {
  const { canWrite } = usePermissions()
  const [action, setAction] = useState<'restore' | 'delete' | null>(null)
  const [shown, setShown] = useState<'content' | 'changes'>('content')
  const [otherId, setOtherId] = useState<string | null>(null)
  const name = nameOfPath(file.path)
  const kind = viewerKind({ name, mimeType: version.mimeType })
  const others = versions.filter(({ id }) => id !== version.id)
  // An earlier version is compared with the content now, and that with the version before.
  const other = others.find(({ id }) => id === otherId) ?? others[0]
  const isText = kind === 'text' || kind === 'table'
  const download = () => save(`${onThisOrigin(version.downloadUrl)}&disposition=attachment`, '')
  return (
    <div className="version-view">
      <div className="version-bar">
        <div className="version-facts">
          <strong>{nameOfVersion(version)}</strong>
          <Facts version={version} isDeleted={!versions.some(({ isCurrent }) => isCurrent)} />
        </div>
        <div className="actions">
          {isText && other && (
            <Choices label={texts.show} choices={views} value={shown} onChange={setShown} layout="row" />
          )}
          <Button onPress={download}>
            <Icon name="download" />
            {texts.download}
          </Button>
          {canWrite && !version.isCurrent && (
            <>
              <Button onPress={() => setAction('delete')}>
                <Icon name="trash" />
                {common.delete}
              </Button>
              <Button variant="primary" onPress={() => setAction('restore')}>
                <Icon name="history" />
                {texts.restore}
              </Button>
            </>
          )}
        </div>
      </div>
      {isText && shown === 'changes' && other ? (
        <>
          {others.length > 1 && (
            <Select
              label={texts.compareWith}
              options={others.map(each => ({ value: each.id, title: titleOf(each) }))}
              value={other.id}
              onChange={setOtherId}
            />
          )}
          <Suspense fallback={<Loading label={common.loading} />}>
            <TextDiffView name={name} {...inOrder(file, versions, version, other)} />
          </Suspense>
        </>
      ) : (
        <div className="version-content">
          <VersionContent key={version.id + version.modifiedAt} file={file} version={version} onDownload={download} />
        </div>
      )}
      {action === 'restore' && (
        <RestoreDialog
          file={file}
          version={version}
          isDeleted={!versions.some(({ isCurrent }) => isCurrent)}
          onRestored={onChanged}
          onClose={() => setAction(null)}
        />
      )}
      {action === 'delete' && (
        <Confirm
          title={texts.deleteTitle}
          action={common.delete}
          onConfirm={async () => {
            await deleteVersion(version.id)
            notify(texts.deleted)
            await onChanged()
          }}
          onClose={() => setAction(null)}
        >
          <p>
            {texts.deleteHelp(nameOfVersion(version))} {common.cannotUndo}
          </p>
        </Confirm>
      )}
    </div>
  )
}

function VersionContent({
  file,
  version,
  onDownload,
}: {
  file: StorageLocation
  version: FileVersion
  onDownload: () => void
}) {
  // Each reading of the list brings another link, which would load the content again.
  const [viewed] = useState(() => earlierFile(contentOf(file, version), version))
  return <ContentView file={viewed} neighbors={null} editing={null} onDownload={onDownload} />
}

function Facts({ version, isDeleted }: { version: FileVersion; isDeleted: boolean }) {
  const { size, expiresAt, isCurrent } = version
  const facts: ReactNode[] = [
    isCurrent ? texts.current : null,
    size === null ? null : formatBytes(size),
    isCurrent ? null : <Replaced key="replaced" version={version} isDeleted={isDeleted} />,
    expiresAt === null ? null : texts.keptUntil(<Time at={expiresAt} />),
  ].filter(fact => fact !== null)
  return (
    <span className="help">
      {facts.map((fact, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the facts keep their order
        <span key={index}>
          {index > 0 && ' · '}
          {fact}
        </span>
      ))}
    </span>
  )
}

function titleOf(version: FileVersion): string {
  return version.isCurrent ? texts.current : nameOfVersion(version)
}

function contentOf(file: StorageLocation, { id, isCurrent }: FileVersion): ContentLocation {
  return isCurrent ? file : { ...file, version: id }
}

/** Returns two versions for a comparison. */
function inOrder(
  file: StorageLocation,
  versions: readonly FileVersion[],
  one: FileVersion,
  other: FileVersion,
): { older: ComparedText; newer: ComparedText } {
  const [newer, older] = versions.indexOf(one) < versions.indexOf(other) ? [one, other] : [other, one]
  const compared = (version: FileVersion) => ({
    at: contentOf(file, version),
    key: `${version.modifiedAt} ${version.size}`,
    title: titleOf(version),
  })
  return { older: compared(older), newer: compared(newer) }
}

/** Says what becomes of the present content before it restores a version. */
function RestoreDialog({
  file,
  version,
  isDeleted,
  onRestored,
  onClose,
}: {
  file: StorageLocation
  version: FileVersion
  isDeleted: boolean
  onRestored: () => Promise<unknown>
  onClose: () => void
}) {
  const { data: traits } = useVersionTraits(file.providerId)
  const isLossy = !isDeleted && traits?.count === 0
  const time = nameOfVersion(version)
  return (
    <Confirm
      title={texts.restoreTitle(nameOfPath(file.path))}
      action={texts.restore}
      variant={isLossy ? 'danger' : 'primary'}
      onConfirm={async () => {
        notify(texts.restored(await restoreVersion(version.id)))
        await onRestored()
      }}
      onClose={onClose}
    >
      <p>
        {isDeleted ? texts.restoreDeleted(time) : texts.restoreHelp(time)}{' '}
        {!isDeleted && traits && (isLossy ? texts.presentIsLost : texts.presentStays)}
      </p>
    </Confirm>
  )
}
