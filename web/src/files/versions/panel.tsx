/** The versions of a file over the whole page: a list, and the content of the chosen one. */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { Link } from 'react-router'
import { nameOfPath, parentPath, type StorageLocation } from '../../api/locations.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { usePermissions } from '../../api/session.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/versions.tsx'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icons.tsx'
import { LoadState } from '../../ui/loading.tsx'
import { ShowMore, usePages } from '../../ui/pages.tsx'
import { useRefreshFolder } from '../listing.ts'
import '../preview/preview.css'
import '../preview/viewers/text.css'
import './versions.css'
import { useVersionTraits, versionsOf } from './operations.ts'
import { VersionList } from './version-list.tsx'
import { VersionView } from './version-view.tsx'

export function VersionsPanel({ file, onClose }: { file: StorageLocation; onClose: () => void }) {
  const client = useQueryClient()
  const refreshFolder = useRefreshFolder()
  const queryKey = [...queryKeys.versions, file.providerId, file.path]
  const { query, nodes: versions = [] } = usePages(queryKey, (after, signal) => versionsOf(file, after, signal))
  const [chosenId, setChosenId] = useState<string | null>(null)
  const earlier = versions.filter(({ isCurrent }) => !isCurrent)
  const chosen = versions.find(({ id }) => id === chosenId) ?? earlier[0]
  const name = nameOfPath(file.path)
  const reload = () =>
    Promise.all([
      client.invalidateQueries({ queryKey }),
      refreshFolder({ providerId: file.providerId, path: parentPath(file.path) }),
    ])
  return (
    <ModalOverlay
      isOpen
      isDismissable
      className="overlay preview-overlay"
      onOpenChange={isOpen => {
        if (!isOpen) onClose()
      }}
    >
      <Modal className="preview">
        <Dialog className="preview-dialog">
          <div className="preview-frame">
            <div className="preview-head">
              <Heading slot="title">{texts.versionsOf(name)}</Heading>
              <span className="aside-text" />
              <Button variant="quiet" aria-label={common.close} onPress={onClose}>
                <Icon name="cross" />
              </Button>
            </div>
            <div className={`versions-body${chosen ? '' : ' without'}`}>
              <LoadState query={query} label={texts.loading} />
              {query.data && earlier.length === 0 && <NoVersions providerId={file.providerId} />}
              {chosen && earlier.length > 0 && (
                <>
                  <div className="versions-aside">
                    <VersionList
                      label={texts.versionsOf(name)}
                      versions={versions}
                      isDeleted={earlier.length === versions.length}
                      chosen={chosen}
                      onChoose={setChosenId}
                    />
                    <ShowMore query={query} />
                  </div>
                  <VersionView file={file} version={chosen} versions={versions} onChanged={reload} />
                </>
              )}
            </div>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

/** Says whether the storage will keep versions. */
function NoVersions({ providerId }: { providerId: string }) {
  const { isAdmin } = usePermissions()
  const { data: traits } = useVersionTraits(providerId)
  return (
    <div className="empty">
      <Icon name="history" />
      <p className="empty-title">{texts.none}</p>
      {traits && traits.count > 0 && <p>{texts.noneYet(traits.count, traits.days)}</p>}
      {traits?.count === 0 && (
        <p>
          {texts.notKept}{' '}
          {isAdmin ? texts.turnOn(<Link to="/settings/storages">{texts.turnOnLink}</Link>) : texts.askAdministrator}
        </p>
      )}
    </div>
  )
}
