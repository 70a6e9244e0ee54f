/** Previews: a file over the whole page, in a view for its type. Each view that needs a library loads when it is first shown. */
import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useMemo, useRef, useState } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { useBlocker } from 'react-router'
import { childPath, type StorageLocation } from '../../api/locations.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/files.tsx'
import { formatBytes } from '../../texts/format.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Loading } from '../../ui/loading.tsx'
import { type Entry, fileLink, thumbnailOf } from '../operations.ts'
import { ContentView, NoPreview, needsLink } from './content-view.tsx'
import { previewKind } from './file-types.ts'
import { Information } from './information.tsx'
import { Media } from './media.tsx'
import { useSlideshow } from './slideshow.ts'
import './preview.css'

/** Seconds. It is long enough to pause a film and continue later. */
const linkLifetime = 6 * 60 * 60

/** Pixels of the images of files that no browser shows. */
const imagePixels = 1024

function toggleFullScreen(element: HTMLElement | null): void {
  if (document.fullscreenElement) void document.exitFullscreen()
  // A browser can refuse, and the preview covers its window then.
  else element?.requestFullscreen().catch(() => {})
}

/** Shows a file over the whole page. The arrow keys go to the previous and next file. */
export function Preview({
  folder,
  entry,
  entries,
  onShow,
  onDownload,
  onClose,
}: {
  folder: StorageLocation
  entry: Entry
  entries: readonly Entry[]
  onShow: (name: string) => void
  onDownload: (entry: Entry) => void
  onClose: () => void
}) {
  const { providerId } = folder
  const path = childPath(folder.path, entry.name)
  const kind = previewKind(entry)
  // A browser cannot show every photo. The server makes an image of the others.
  const image = kind === null ? thumbnailOf(entry, imagePixels) : null
  const file = entry.__typename === 'File' ? entry : null
  const isLinked = kind !== null && file !== null && needsLink(kind, file)
  const {
    data: link,
    error,
    refetch,
  } = useQuery({
    queryKey: ['link', providerId, path, entry.modifiedAt],
    queryFn: ({ signal }) => fileLink({ providerId, path }, { inline: true, expiresIn: linkLifetime }, signal),
    staleTime: (linkLifetime * 1000) / 2,
    enabled: isLinked,
  })
  const files = useMemo(() => entries.filter(({ __typename }) => __typename === 'File'), [entries])
  const at = files.findIndex(({ name }) => name === entry.name)
  const previous = files[at - 1]
  const next = at < 0 ? undefined : files[at + 1]
  const [showsInfo, setShowsInfo] = useState(false)
  const frame = useRef<HTMLDivElement>(null)
  const slideshow = useSlideshow({ files, entry, onShow })
  /** Whether a text was edited and not saved. */
  const [isDirty, setDirty] = useState(false)
  // Any way out of the preview is a navigation, also that with the Back button.
  const blocker = useBlocker(isDirty)
  const onKeyDown = ({ key, target }: KeyboardEvent) => {
    // Media players seek with the arrow keys, texts scroll sideways, and editors move the cursor.
    if (isDirty || target instanceof HTMLMediaElement) return
    if (target instanceof HTMLElement && ['PRE', 'TEXTAREA'].includes(target.tagName)) return
    if (key === 'ArrowLeft' && previous) onShow(previous.name)
    if (key === 'ArrowRight' && next) onShow(next.name)
    if (key === 'i') setShowsInfo(!showsInfo)
    if (key === 'f') toggleFullScreen(frame.current)
  }
  const onSwipe = (direction: 1 | -1) => {
    const to = direction === 1 ? next : previous
    if (to) onShow(to.name)
  }
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
          <div ref={frame} className="preview-frame" tabIndex={-1} onKeyDown={onKeyDown}>
            <div className="preview-head">
              <Heading slot="title">{entry.name}</Heading>
              <span className="aside-text">
                {entry.__typename === 'File' && entry.size !== null && formatBytes(entry.size)}
              </span>
              <Button
                variant="quiet"
                aria-label={texts.previousFile}
                isDisabled={!previous || isDirty}
                onPress={() => previous && onShow(previous.name)}
              >
                <Icon name="left" />
              </Button>
              <Button
                variant="quiet"
                aria-label={texts.nextFile}
                isDisabled={!next || isDirty}
                onPress={() => next && onShow(next.name)}
              >
                <Icon name="right" />
              </Button>
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
                  onPress={() => toggleFullScreen(frame.current)}
                >
                  <Icon name="expand" />
                </Button>
              )}
              <Button
                variant="quiet"
                aria-label={texts.information}
                aria-pressed={showsInfo}
                onPress={() => setShowsInfo(!showsInfo)}
              >
                <Icon name="info" />
              </Button>
              <Button variant="quiet" aria-label={texts.download} onPress={() => onDownload(entry)}>
                <Icon name="download" />
              </Button>
              <Button variant="quiet" aria-label={common.close} autoFocus onPress={onClose}>
                <Icon name="cross" />
              </Button>
            </div>
            <div className={`preview-body${showsInfo ? ' with-info' : ''}`}>
              {error && <ErrorBox error={error} retry={refetch} />}
              {image !== null && <Media key={image} kind="image" link={image} name={entry.name} onSwipe={onSwipe} />}
              {kind === null && image === null && <NoPreview onDownload={() => onDownload(entry)} />}
              {isLinked && !link && !error && <Loading label={common.loading} />}
              {kind && file && (link || !isLinked) && (
                <ContentView
                  key={isLinked ? link : path}
                  at={{ providerId, path }}
                  file={file}
                  kind={kind}
                  link={isLinked ? (link ?? null) : null}
                  onDirty={setDirty}
                  onSwipe={onSwipe}
                />
              )}
              {showsInfo && <Information key={path} folder={folder} entry={entry} />}
            </div>
          </div>
          {blocker.state === 'blocked' && (
            <Confirm
              title={texts.discardTitle}
              action={texts.discard}
              onConfirm={async () => blocker.proceed()}
              onClose={blocker.reset}
            >
              <p>{texts.discardHelp(entry.name)}</p>
            </Confirm>
          )}
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
