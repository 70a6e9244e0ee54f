/** Previews: a file over the whole page, in a view for its type. Each view that needs a library loads when it is first shown. */
import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, Suspense, useMemo, useRef, useState } from 'react'
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
import { type PreviewKind, previewKind } from './file-types.ts'
import { Information } from './information.tsx'
import { Media } from './media.tsx'
import { useSlideshow } from './slideshow.ts'
import { DocumentView } from './text.tsx'
import './preview.css'
import { stowage } from '../../api/client.ts'
import { lazyPart } from '../../lib/load-part.ts'
import { TableView } from './table.tsx'

/** The browser shows these by a link; the others are read by the page. */
const mediaKinds: ReadonlySet<PreviewKind> = new Set(['image', 'video', 'audio'])

/** The server lets a page frame only this type, without parameters. */
function hasPdfViewer(entry: Entry): boolean {
  return navigator.pdfViewerEnabled && entry.__typename === 'File' && entry.mimeType === 'application/pdf'
}

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
  const needsLink = kind !== null && (mediaKinds.has(kind) || (kind === 'pdf' && hasPdfViewer(entry)))
  const {
    data: link,
    error,
    refetch,
  } = useQuery({
    queryKey: ['link', providerId, path, entry.modifiedAt],
    queryFn: ({ signal }) => fileLink({ providerId, path }, { inline: true, expiresIn: linkLifetime }, signal),
    staleTime: (linkLifetime * 1000) / 2,
    enabled: needsLink,
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
              {needsLink && !link && !error && <Loading label={common.loading} />}
              {kind && (link || !needsLink) && (
                <View
                  key={needsLink ? link : path}
                  file={{ providerId, path }}
                  kind={kind}
                  entry={entry}
                  link={link ?? ''}
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

interface ViewProps {
  file: StorageLocation
  kind: PreviewKind
  entry: Entry
  link: string
  onDirty: (isDirty: boolean) => void
  onSwipe: (direction: 1 | -1) => void
}

function View({ file, kind, entry, link, onDirty, onSwipe }: ViewProps) {
  const [size, type] = entry.__typename === 'File' ? [entry.size, entry.mimeType] : [null, null]
  if (kind === 'text') return <DocumentView file={file} name={entry.name} type={type} onDirty={onDirty} />
  if (kind === 'table') return <TableView file={file} name={entry.name} />
  if (kind === 'pdf' && link !== '') return <PdfFrame link={link} name={entry.name} />
  if (kind === 'pdf') return <PdfView file={file} name={entry.name} size={size} />
  return <Media kind={kind} link={link} name={entry.name} onSwipe={onSwipe} />
}

function NoPreview({ onDownload }: { onDownload: () => void }) {
  return (
    <div className="no-preview">
      <Icon name="file" />
      <p>{texts.noPreview}</p>
      <Button variant="primary" onPress={onDownload}>
        <Icon name="download" />
        {texts.download}
      </Button>
    </div>
  )
}

/** Bytes. The file is loaded into memory. */
const maxSize = 100 * 1024 * 1024

const PdfPages = lazyPart(async () => (await import('./pdf-pages.tsx')).PdfPages)

async function loadPdf(file: StorageLocation, signal: AbortSignal): Promise<Blob> {
  const { body } = await stowage.files.download({ ...file, signal })
  return new Response(body, { headers: { 'content-type': 'application/pdf' } }).blob()
}

/** Shows a PDF file with the viewer of the browser, which reads the title from the address of the frame. */
function PdfFrame({ link, name }: { link: string; name: string }) {
  return <iframe src={link.replace('?', () => `/${encodeURIComponent(name)}?`)} title={name} />
}

/** Draws the pages of a PDF file for browsers without a viewer, as those of phones. */
function PdfView({ file, name, size }: { file: StorageLocation; name: string; size: number | null }) {
  const isTooLarge = size === null || size > maxSize
  const { data, error, refetch } = useQuery({
    queryKey: ['pdf', file],
    queryFn: ({ signal }) => loadPdf(file, signal),
    enabled: !isTooLarge,
    gcTime: 0,
  })
  if (isTooLarge) return <p className="preview-note">{texts.pdfTooLarge(formatBytes(maxSize))}</p>
  if (error) return <ErrorBox error={error} retry={refetch} />
  if (!data) return <Loading label={common.loading} />
  return (
    <Suspense fallback={<Loading label={common.loading} />}>
      <PdfPages content={data} name={name} />
    </Suspense>
  )
}
