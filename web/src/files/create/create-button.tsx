/**
 * New folders and files from the large button of phones. The open folder enters (`offer.ts`), and uploads, new files
 * and new folders leave.
 */
import { type ChangeEvent, Suspense, useRef, useState } from 'react'
import { useNavigate } from 'react-router'
import { usePermissions } from '../../api/session.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { texts } from '../../texts/files.tsx'
import { Icon } from '../../ui/icons.tsx'
import type { MenuGroup } from '../../ui/menu.tsx'
import { folderHref } from '../addresses.ts'
import { useProviders } from '../listing.ts'
import type { Provider } from '../operations.ts'
import { type FileSelection, takeFiles } from '../upload/choose-files.tsx'
import { uploadFiles } from '../upload/waiting-uploads.ts'
import { useCreationOffer } from './offer.ts'

const ActionMenu = lazyPart(async () => (await import('../../ui/menu.tsx')).ActionMenu)

/** The number of storages in the menu of a page that shows no folder. */
const maxStorages = 8

/** The large button of phones: it adds to the open folder, or elsewhere to a storage that the person chooses. */
export function CreateButton() {
  const { isUnrestricted } = usePermissions()
  const { data: providers = [] } = useProviders()
  const navigate = useNavigate()
  const offer = useCreationOffer()
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const files = useRef<HTMLInputElement>(null)
  const media = useRef<HTMLInputElement>(null)
  const camera = useRef<HTMLInputElement>(null)
  const target = useRef<Provider | null>(null)

  const onFiles = (selection: FileSelection) => {
    if (offer) offer.onFiles(selection)
    else if (target.current) {
      const { id, root } = target.current
      uploadFiles({ selection, providerId: id, folder: root.path })
      void navigate(folderHref(id, root.path))
    }
  }
  const take = ({ currentTarget }: ChangeEvent<HTMLInputElement>) => takeFiles(currentTarget, onFiles)
  const uploadTo = (provider: Provider) => {
    target.current = provider
    files.current?.click()
  }
  const addStorage = {
    id: 'storage',
    label: texts.addStorage,
    icon: 'drive',
    run: () => void navigate('/connect'),
  } as const
  const groups: MenuGroup[] = offer
    ? [
        {
          actions: [
            { id: 'upload', label: texts.uploadFiles, icon: 'upload', run: () => files.current?.click() },
            { id: 'media', label: texts.photosAndVideos, icon: 'photos', run: () => media.current?.click() },
            { id: 'camera', label: texts.takePhoto, icon: 'camera', run: () => camera.current?.click() },
            { id: 'file', label: texts.newFile, icon: 'new-file', run: offer.onNewFile },
            { id: 'folder', label: texts.newFolder, icon: 'new-folder', run: offer.onNewFolder },
          ],
        },
      ]
    : [
        {
          actions: [
            ...providers.slice(0, maxStorages).map(provider => ({
              id: folderHref(provider.id, provider.root.path),
              label: texts.uploadTo(provider.name),
              icon: 'upload' as const,
              run: () => uploadTo(provider),
            })),
            ...(isUnrestricted ? [addStorage] : []),
          ],
        },
      ]
  return (
    <>
      <button
        ref={button}
        type="button"
        className="create-button"
        aria-label={texts.add}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(true)}
      >
        <Icon name="plus" />
      </button>
      <input ref={files} type="file" multiple hidden onChange={take} />
      <input ref={media} type="file" accept="image/*,video/*" multiple hidden onChange={take} />
      <input ref={camera} type="file" accept="image/*" capture="environment" hidden onChange={take} />
      {isOpen && (
        <Suspense>
          <ActionMenu
            anchor={button}
            label={texts.add}
            placement="top"
            groups={groups}
            onClose={() => setOpen(false)}
          />
        </Suspense>
      )}
    </>
  )
}
