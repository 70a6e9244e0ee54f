/**
 * The frame of all viewers: a file over the whole page, the way to the files beside it, and what can be done with it. The files of a
 * folder and those of a share link are shown in it.
 */
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useState } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { useBlocker } from 'react-router'
import type { StorageLocation } from '../../api/locations.ts'
import { common } from '../../texts/common.ts'
import { nextKey, previousKey } from '../../texts/languages.ts'
import { texts } from '../../texts/viewers.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { Icon, type IconName } from '../../ui/icons.tsx'
import { KindIcon } from '../../ui/kind-icon.tsx'
import { kindOf } from '../kinds.ts'
import { ContentView } from './content-view.tsx'
import { usePrefetch } from './prefetch.ts'
import { useSlideshow } from './slideshow.ts'
import { useSwipe } from './swipe.ts'
import type { NamedFile, Neighbors, ViewedFile } from './viewer.ts'
import './preview.css'

export interface FileAction {
  label: string
  icon: IconName
  isDanger?: boolean
  run: () => void
}

/** The files before and after the present one that a viewer can list. */
const knownNeighbors = 100

/** The whole page fills the screen, because the dialogs above the frame lie beside it. */
function toggleFullScreen(): void {
  if (document.fullscreenElement) leaveFullScreen()
  // A browser can refuse, and the frame covers its window then.
  else document.documentElement.requestFullscreen().catch(() => {})
}

function leaveFullScreen(): void {
  if (document.fullscreenElement) document.exitFullscreen().catch(() => {})
}

export function ViewerFrame<File extends NamedFile>({
  file,
  files,
  viewedOf,
  location = null,
  isEditing = false,
  actions = [],
  information = null,
  onShow,
  onDownload,
  onClose,
  children,
}: {
  file: File
  /** The files of the folder in their order. */
  files: readonly File[]
  /** Returns what viewers need of a file. */
  viewedOf: (file: File) => ViewedFile
  /** The file as far as this page may change its text. */
  location?: StorageLocation | null
  /** Whether the editor of a text opens at once. */
  isEditing?: boolean
  /** The actions for the file besides its download. */
  actions?: readonly FileAction[]
  /** The content of the panel of information. */
  information?: ReactNode
  onShow: (name: string) => void
  onDownload: () => void
  onClose: () => void
  /** Dialogs above the frame. */
  children?: ReactNode
}) {
  const at = files.findIndex(({ name }) => name === file.name)
  const previous = files[at - 1]
  const next = at < 0 ? undefined : files[at + 1]
  const [showsInfo, setShowsInfo] = useState(false)
  /** Whether a text was edited and not saved. */
  const [isDirty, setDirty] = useState(false)
  // Any way out of the frame is a navigation, also that with the Back button.
  const blocker = useBlocker(isDirty)
  useEffect(() => leaveFullScreen, [])
  const slideshow = useSlideshow({ files, file, onShow })
  const viewed = useMemo(() => viewedOf(file), [file, viewedOf])
  const beside = useMemo(() => [next, previous].map(each => each && viewedOf(each)), [next, previous, viewedOf])
  usePrefetch(beside)
  const neighbors: Neighbors = useMemo(() => {
    const known = files.slice(Math.max(0, at - knownNeighbors), at + knownNeighbors)
    return { files: known.map(viewedOf), show: onShow }
  }, [files, at, viewedOf, onShow])
  const editing = useMemo(() => location && { location, isEditing, onDirty: setDirty }, [location, isEditing])
  const step = (direction: 1 | -1) => {
    const to = direction === 1 ? next : previous
    if (to && !isDirty) onShow(to.name)
  }
  const swipe = useSwipe(step)
  const onKeyDown = ({ key, target, ctrlKey, metaKey, altKey }: KeyboardEvent) => {
    // Media players seek with the arrow keys, texts scroll sideways, and fields move the cursor or choose.
    if (isDirty || ctrlKey || metaKey || altKey || target instanceof HTMLMediaElement) return
    if (target instanceof HTMLElement && ['PRE', 'TEXTAREA', 'INPUT', 'SELECT'].includes(target.tagName)) return
    if (key === previousKey) step(-1)
    if (key === nextKey) step(1)
    if (key === 'i' && information !== null) setShowsInfo(!showsInfo)
    if (key === 'f') toggleFullScreen()
    if (key === 'Delete') actions.find(({ isDanger }) => isDanger)?.run()
  }
  const stepButton = (direction: 1 | -1, label: string, icon: IconName) => (
    <Button
      variant="quiet"
      className={`viewer-step ${icon}`}
      aria-label={label}
      isDisabled={isDirty || (direction === 1 ? !next : !previous)}
      onPress={() => step(direction)}
    >
      <Icon name={icon} />
    </Button>
  )
  return (
    <ModalOverlay
      isOpen
      isDismissable={!isDirty}
      className="overlay preview-overlay"
      onOpenChange={isOpen => {
        if (!isOpen) onClose()
      }}
    >
      <Modal className="preview">
        <Dialog className="preview-dialog">
          {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys repeat what the buttons do */}
          <div className="preview-frame" tabIndex={-1} onKeyDown={onKeyDown}>
            <div className="preview-head">
              <KindIcon kind={kindOf({ __typename: 'File', ...file })} />
              <Heading slot="title" dir="auto">
                {file.name}
              </Heading>
              {files.length > 1 && at >= 0 && (
                <span className="preview-position">{texts.position(at + 1, files.length)}</span>
              )}
              <div className="preview-actions">
                {slideshow.isPossible && (
                  <Button
                    variant="quiet"
                    aria-label={slideshow.isRunning ? texts.stopSlideshow : texts.slideshow}
                    onPress={slideshow.toggle}
                  >
                    <Icon name={slideshow.isRunning ? 'pause' : 'play'} />
                  </Button>
                )}
                {document.fullscreenEnabled && (
                  <Button
                    variant="quiet"
                    className="full-screen"
                    aria-label={texts.fullScreen}
                    onPress={toggleFullScreen}
                  >
                    <Icon name="expand" />
                  </Button>
                )}
                {information !== null && (
                  <Button
                    variant="quiet"
                    aria-label={texts.information}
                    aria-pressed={showsInfo}
                    onPress={() => setShowsInfo(!showsInfo)}
                  >
                    <Icon name="info" />
                  </Button>
                )}
                {actions.map(({ label, icon, isDanger, run }) => (
                  <Button
                    key={label}
                    variant="quiet"
                    aria-label={label}
                    className={isDanger ? 'removes' : ''}
                    isDisabled={isDirty}
                    onPress={run}
                  >
                    <Icon name={icon} />
                  </Button>
                ))}
                <Button variant="quiet" aria-label={texts.download} onPress={onDownload}>
                  <Icon name="download" />
                </Button>
              </div>
              <Button variant="quiet" className="preview-close" aria-label={common.close} autoFocus onPress={onClose}>
                <Icon name="cross" />
              </Button>
            </div>
            <div className={`preview-body${showsInfo ? ' with-info' : ''}`}>
              <div className="preview-stage" {...swipe}>
                {stepButton(-1, texts.previousFile, 'left')}
                <div className="preview-content">
                  <ContentView file={viewed} neighbors={neighbors} editing={editing} onDownload={onDownload} />
                </div>
                {stepButton(1, texts.nextFile, 'right')}
              </div>
              {showsInfo && (
                <aside className="preview-info" aria-label={texts.information}>
                  {information}
                </aside>
              )}
            </div>
          </div>
          {blocker.state === 'blocked' && (
            <Confirm
              title={texts.discardTitle}
              action={texts.discard}
              onConfirm={async () => blocker.proceed()}
              onClose={blocker.reset}
            >
              <p>{texts.discardHelp(file.name)}</p>
            </Confirm>
          )}
          {children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
