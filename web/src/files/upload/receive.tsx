import { useEffect, useState } from 'react'
import { useNavigate, useSearchParams } from 'react-router'
import { forgetSharedFiles, keepUntilStored, readShared } from '../../api/device.ts'
import type { StorageLocation } from '../../api/locations.ts'
import { usePermissions } from '../../api/session.ts'
import { maxShared } from '../../api/shared-bounds.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/files.tsx'
import { formatBytes } from '../../texts/format.ts'
import { texts as offlineTexts } from '../../texts/offline.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { FolderPicker } from '../../ui/folder-picker.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { PageHead } from '../../ui/page.tsx'
import { notifyError } from '../../ui/toasts.tsx'
import { folderHref } from '../addresses.ts'
import { EntryIcon } from '../entry-icon.tsx'
import { useProviders } from '../listing.ts'
import { type FileSelection, UploadButtons } from './choose-files.tsx'
import { uploadFiles } from './waiting-uploads.ts'
import './receive.css'

/** Asks for the folder of files that another program has shared, or that the person chooses here. */
export function ReceivePage() {
  const { canWrite } = usePermissions()
  const providers = useProviders()
  const navigate = useNavigate()
  const [search] = useSearchParams()
  const [selection, setSelection] = useState<FileSelection>({ files: [], emptyFolders: [] })
  const [isShared, setShared] = useState(false)
  const [chosen, setFolder] = useState<StorageLocation | null>(null)
  useEffect(() => {
    readShared().then(files => {
      if (files.length === 0) return
      setSelection({ files: files.map(file => ({ file, relativePath: file.name })), emptyFolders: [] })
      setShared(true)
    }, notifyError)
  }, [])
  const { data = [] } = providers
  // Another page can send files here, too, so nothing is chosen for them.
  const [only] = data.length === 1 && !isShared ? data : []
  const folder = chosen ?? (only ? { providerId: only.id, path: only.root.path } : null)
  const { files } = selection
  const upload = () => {
    if (!folder) return
    keepUntilStored(files.map(({ file }) => file))
    uploadFiles({ selection, providerId: folder.providerId, folder: folder.path })
    void navigate(folderHref(folder.providerId, folder.path))
  }
  const failure = search.get('failed')
  return (
    <main className="page receive-page">
      <PageHead title={texts.uploadFiles} />
      {failure === 'room' && <ErrorBox error={new Error(offlineTexts.noRoom)} />}
      {failure === 'bounds' && (
        <ErrorBox error={new Error(offlineTexts.tooMuchShared(maxShared.files, maxShared.bytes))} />
      )}
      {!canWrite && <p>{texts.askAdministrator}</p>}
      {canWrite && files.length === 0 && (
        <div className="receive-buttons">
          <UploadButtons filesText={texts.uploadFiles} folderText={texts.uploadFolder} onFiles={setSelection} />
        </div>
      )}
      {canWrite && files.length > 0 && (
        <>
          <ul className="receive-files" aria-label={texts.filesToUpload}>
            {files.map(({ file, relativePath }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: two files can have the same name, and the list keeps its order
              <li key={index}>
                <EntryIcon entry={{ __typename: 'File', name: relativePath, mimeType: file.type || null }} />
                <bdi>{relativePath}</bdi>
                <span className="aside-text">{formatBytes(file.size)}</span>
              </li>
            ))}
          </ul>
          <LoadState query={providers} label={texts.loadingStorages} />
          {providers.data && <FolderPicker providers={data} value={folder} onChange={setFolder} />}
          {!folder && <p className="aside-text">{texts.chooseStorage}</p>}
          <div className="dialog-actions">
            <Button
              onPress={() => {
                setSelection({ files: [], emptyFolders: [] })
                forgetSharedFiles(files.map(({ file }) => file)).catch(notifyError)
              }}
            >
              {common.cancel}
            </Button>
            <Button variant="primary" isDisabled={!folder} onPress={upload}>
              {texts.uploadFiles}
            </Button>
          </div>
        </>
      )}
    </main>
  )
}
