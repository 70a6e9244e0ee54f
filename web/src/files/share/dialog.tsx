/** Shares files and folders: with people and groups of the workspace, or by a link. */
import { useQueryClient } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { ask } from '../../api/client.ts'
import { childPath, type StorageLocation } from '../../api/locations.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { RevokeShareMutation } from '../../api/shares.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { common } from '../../texts/common.ts'
import { formatList } from '../../texts/format.ts'
import { texts } from '../../texts/shares.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Confirm, Dialog, DialogEnd } from '../../ui/dialog.tsx'
import type { Entry } from '../operations.ts'
import { type ReadyShare, ShareForm } from './form.tsx'
import type { PresentShare } from './operations.ts'
import './share.css'

/** Shares the selected entries, shows with whom they are shared already, and shows the link of a new share. */
export function ShareDialog({
  folder,
  entries,
  onClose,
}: {
  folder: StorageLocation
  entries: readonly Entry[]
  onClose: () => void
}) {
  const client = useQueryClient()
  // The entries of the folder may change while the dialog is open.
  const [names] = useState(() => entries.map(({ name }) => name))
  const [canReceiveFiles] = useState(entries.length === 1 && entries[0]?.__typename === 'Folder')
  const [ready, setReady] = useState<ReadyShare | null>(null)
  const [revoking, setRevoking] = useState<PresentShare | null>(null)
  if (ready) return <Ready share={ready} onClose={onClose} />
  return (
    <>
      <ShareForm
        title={texts.title(names)}
        providerId={folder.providerId}
        paths={names.map(name => childPath(folder.path, name))}
        canReceiveFiles={canReceiveFiles}
        onReady={setReady}
        onRevoke={setRevoking}
        onClose={onClose}
      />
      {revoking && (
        <Confirm
          title={texts.revokeLink}
          action={common.revoke}
          onConfirm={async () => {
            await ask(RevokeShareMutation, { id: revoking.id })
            await client.invalidateQueries({ queryKey: queryKeys.shares })
          }}
          onClose={() => setRevoking(null)}
        >
          <p>{texts.revokeHelp}</p>
        </Confirm>
      )}
    </>
  )
}

const QrCode = lazyPart(async () => (await import('../../ui/qr-code.tsx')).QrCode)

function Ready({ share: { url, names }, onClose }: { share: ReadyShare; onClose: () => void }) {
  const [isShown, setShown] = useState(false)
  return (
    <Dialog title={names ? texts.sharedReady : texts.ready} onClose={onClose} size="large">
      <p>{names ? texts.sharedReadyHelp(formatList(names)) : texts.readyHelp}</p>
      <code className="secret" data-testid="share-link">
        {url}
      </code>
      <div className="actions">
        <CopyButton text={url} label={texts.copyLink} />
        <a className="button" href={url} target="_blank" rel="noreferrer">
          {texts.openLink}
        </a>
      </div>
      <details className="share-limits" onToggle={({ currentTarget }) => setShown(currentTarget.open)}>
        <summary>{texts.qrCode}</summary>
        <Suspense>{isShown && <QrCode text={url} label={texts.qrCodeOf} />}</Suspense>
      </details>
      <DialogEnd label={common.done} onClose={onClose} />
    </Dialog>
  )
}
